"""HTTP under every route: bodies, limits, authentication, preconditions, answers."""
