"""What an operation is: its declaration, context, dispatch and registry; schemas and tools."""
