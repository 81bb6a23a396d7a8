"""How others extend Looseleaf: hooks, and our own defaults registered like anyone else's."""
