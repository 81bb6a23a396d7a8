"""What an agent remembers: pages, sections, the daily journal, history. Standard library only."""
