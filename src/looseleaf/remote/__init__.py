"""A workspace on a server: the same operations, run over HTTP."""
