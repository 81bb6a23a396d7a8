"""Who answers: models of any provider behind one contract, and one that needs none."""
