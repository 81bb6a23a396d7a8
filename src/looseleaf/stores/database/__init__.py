"""Accounts, settings, the audit, conversations, workflows and jobs in SQLite or PostgreSQL."""
