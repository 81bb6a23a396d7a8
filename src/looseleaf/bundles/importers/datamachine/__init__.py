"""Pipelines and flows of Data Machine, translated into workflows of our types."""
