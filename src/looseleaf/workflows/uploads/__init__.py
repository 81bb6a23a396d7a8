"""Uploaded files of pipelines and flows, and the contract of their store."""
