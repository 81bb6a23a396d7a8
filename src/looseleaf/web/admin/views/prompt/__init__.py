"""What an agent sees: its prompt as blocks, and two prompts compared."""
