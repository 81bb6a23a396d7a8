"""Where memory lies: the disk store, its history and its search index."""
