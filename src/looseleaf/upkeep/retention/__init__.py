"""Retention: data that has outlived its time, counted or removed; pages and the journal never."""
