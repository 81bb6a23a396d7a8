"""Installing and upgrading: the plan, the approvals, the changes and their undo log."""
