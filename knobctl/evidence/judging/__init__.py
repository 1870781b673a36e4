"""Labels by language models: one answers with the floors open, another judges the answer; paid, and bounded."""
