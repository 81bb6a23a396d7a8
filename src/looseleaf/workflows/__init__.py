"""Workflow memory: pipelines, flows, steps, jobs and schedules, and the contract of the engine."""
