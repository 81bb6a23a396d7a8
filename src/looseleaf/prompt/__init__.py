"""How memory reaches a model: the chain of directives, and what one can ask about it."""
