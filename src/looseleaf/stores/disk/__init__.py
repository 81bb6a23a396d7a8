"""Pages, their history and agents as plain files below one root."""
