"""Pages in a git repository: committed with messages that say who changed what, and why."""
