"""Operations as JSON: types as they are declared, JSON schemas, checked arguments, results."""
