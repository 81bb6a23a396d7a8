"""Memory: pages, the editor, history and the journal."""
