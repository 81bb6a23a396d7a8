"""Retention: data that is past its retention, counted or removed; pages and the journal never."""
