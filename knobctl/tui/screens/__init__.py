"""The places of the terminal UI, one file each."""
