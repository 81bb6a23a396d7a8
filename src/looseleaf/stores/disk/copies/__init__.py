"""Copying pages, histories and agents out of a workspace that others change meanwhile."""
