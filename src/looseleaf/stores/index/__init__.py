"""The search index: a cache in SQLite that always agrees with the pages on disk."""
