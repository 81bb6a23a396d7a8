"""The MCP server: operations as tools, pages as resources, the composed prompt as a prompt."""
