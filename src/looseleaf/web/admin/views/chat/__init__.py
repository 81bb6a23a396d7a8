"""Conversations: the list, one of them, and its transcript in words."""
