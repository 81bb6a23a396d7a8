"""Keeping memory lean: the daily task, retention, packing of histories, and lint."""
