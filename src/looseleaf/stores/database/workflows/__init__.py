"""Workflows in the database: pipelines, flows and the prompts that flows queue."""
