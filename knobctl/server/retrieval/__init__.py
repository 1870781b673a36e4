"""What the reference engine retrieves and assembles, and how. Needs the `engine` extra, but for `model`."""
