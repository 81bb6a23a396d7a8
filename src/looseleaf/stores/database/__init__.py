"""The database, in SQLite or PostgreSQL; and accounts, settings and the audit in it."""
