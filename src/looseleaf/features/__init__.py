"""Features: a folder holds everything about one subject, and registers it by hooks."""
