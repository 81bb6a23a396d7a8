"""Comparing an agent with a bundle: artifacts, plan, rights, credentials, merge and drift."""
