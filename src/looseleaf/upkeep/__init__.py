"""Keeping memory lean."""
