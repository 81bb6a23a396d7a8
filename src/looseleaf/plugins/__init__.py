"""How others extend it: hooks, and our own defaults registered like anyone else's."""
