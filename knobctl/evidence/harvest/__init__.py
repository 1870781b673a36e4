"""Questions that people really asked, out of the transcripts of their agents: one file a format."""
