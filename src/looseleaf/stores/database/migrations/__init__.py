"""The migrations: changes of the tables, step by step."""
