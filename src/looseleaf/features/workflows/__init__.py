"""Workflow memory: pipelines, flows, steps, jobs and schedules."""
