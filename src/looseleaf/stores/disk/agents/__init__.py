"""Agents as folders on disk: records, the register of ids, changes under a lock."""
