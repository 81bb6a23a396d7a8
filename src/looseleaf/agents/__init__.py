"""Agents: their records, their configuration and the contract of their list."""
