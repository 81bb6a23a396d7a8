"""Hygiene of memory without a model: problems in pages, each with an edit that mends it."""
