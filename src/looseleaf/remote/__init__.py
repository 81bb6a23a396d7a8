"""A workspace on a server: the same operations, asked for over HTTP."""
