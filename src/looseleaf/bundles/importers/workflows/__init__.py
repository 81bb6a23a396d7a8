"""Pipelines, flows and uploaded files of a source: the decision about each, and its storing."""
