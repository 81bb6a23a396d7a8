"""Installing and upgrading: the plan, what a person approves, the changes and their undo log."""
