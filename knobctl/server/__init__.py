"""The reference engine: the knobs service, its store, and its wire."""
