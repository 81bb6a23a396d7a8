"""Copies of a database for backups: SQLite files, and the tables of any database as files."""
