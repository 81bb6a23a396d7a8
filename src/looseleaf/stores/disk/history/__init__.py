"""The prior versions of pages on disk, and the logs that list them."""
