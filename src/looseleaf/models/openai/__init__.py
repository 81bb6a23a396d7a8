"""Models of servers that speak the OpenAI chat completions protocol."""
