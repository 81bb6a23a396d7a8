"""Access: principals, accounts, authentication and credentials."""
