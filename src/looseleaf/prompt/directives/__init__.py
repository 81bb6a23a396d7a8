"""Directives: the parts of a prompt, their view and their outputs."""
