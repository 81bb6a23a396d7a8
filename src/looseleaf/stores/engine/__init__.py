"""The durable engine of jobs: DBOS on SQLite or PostgreSQL, behind the contract of workflows."""
