"""Views of workflows: pipelines, flows, jobs, schedules and uploaded files."""
