"""Agents: the overview, the settings of an agent, access to it, its export."""
