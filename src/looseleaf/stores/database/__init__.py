"""Accounts, settings, the audit and conversations in SQLite or PostgreSQL."""
