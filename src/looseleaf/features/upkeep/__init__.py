"""Keeping memory lean: system tasks, generated pages, checks of pages and folders."""
