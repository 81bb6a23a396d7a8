"""How memory reaches a model: the chain of directives, and reports about prompts."""
