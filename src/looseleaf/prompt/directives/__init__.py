"""Directives: the parts of a prompt, and what each one works with."""
