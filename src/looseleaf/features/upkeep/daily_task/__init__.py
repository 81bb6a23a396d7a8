"""The task that keeps MEMORY.md within its budget and moves the rest to the journal, unchanged."""
