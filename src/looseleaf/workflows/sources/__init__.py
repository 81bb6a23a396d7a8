"""Sources of items: feeds and JSON documents, read safely and within limits."""
