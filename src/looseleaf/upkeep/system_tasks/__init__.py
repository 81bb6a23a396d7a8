"""System tasks: work that Looseleaf does by itself, for each agent or for the workspace."""
