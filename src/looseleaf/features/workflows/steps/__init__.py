"""The types of steps that every workspace has."""
