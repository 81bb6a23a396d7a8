"""Schedules: when flows and tasks run, kept across restarts, and fired once by any server."""
