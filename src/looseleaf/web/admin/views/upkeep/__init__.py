"""Upkeep in the admin site: last night's runs, one run line by line, prompts, lint."""
