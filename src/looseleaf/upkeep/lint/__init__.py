"""Hygiene of memory without a model: problems in pages, most with an edit that solves them."""
