"""Models of every provider that pydantic-ai knows."""
