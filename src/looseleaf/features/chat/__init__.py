"""Conversation memory: sessions, their messages, and one turn at a time."""
