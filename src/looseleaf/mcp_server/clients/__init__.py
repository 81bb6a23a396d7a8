"""Programs that speak MCP: what we write into their configuration, and what stands there."""
