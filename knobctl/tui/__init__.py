"""The terminal UI: places, their keys and what is drawn. What it knows of knobs it asks of the rooms below."""
