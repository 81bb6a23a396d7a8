"""Conversations in the database: sessions, messages and turns."""
