"""The memory of agents: pages, sections, the daily journal, history. Standard library only."""
