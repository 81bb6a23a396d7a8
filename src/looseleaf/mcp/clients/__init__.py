"""Programs that speak MCP: our entries in their configuration, written and read."""
