"""Stores: pages on disk with their history, the search index, the database."""
