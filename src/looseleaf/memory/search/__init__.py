"""Search in pages: by substring, and ranked by words."""
