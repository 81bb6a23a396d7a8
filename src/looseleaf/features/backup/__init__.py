"""Backups: one archive of a whole workspace, made while others write, verified and restored."""
