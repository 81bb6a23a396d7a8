"""Views of workflows: pipelines and flows."""
