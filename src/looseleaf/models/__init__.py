"""Models of any provider behind one contract, and an echo model that needs none."""
