"""Ranked ids per ranker, from indexes that follow the catalogue of chunks. Needs the `engine` extra."""
