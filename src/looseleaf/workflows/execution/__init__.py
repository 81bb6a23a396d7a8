"""Execution: a worker takes jobs from the queue and runs their steps."""
