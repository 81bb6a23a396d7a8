"""Who remembers: agents and their records."""
