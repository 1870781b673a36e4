"""The client's view of an engine: one protocol, reached in the process or over HTTP."""
