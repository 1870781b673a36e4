"""Documents: YAML text with positions, layers, byte-exact edits, and the repository they lie in."""
