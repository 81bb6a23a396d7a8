"""Execution: a worker takes jobs from the queue and runs their steps on the durable engine."""
