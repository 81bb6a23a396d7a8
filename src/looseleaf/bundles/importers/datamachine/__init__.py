"""Pipelines and flows of Data Machine: what its sites give, and what it becomes here."""
