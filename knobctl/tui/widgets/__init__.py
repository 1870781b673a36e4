"""What the places are made of."""
