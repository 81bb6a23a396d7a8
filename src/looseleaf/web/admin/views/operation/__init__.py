"""Operation: people, settings, the audit, health and requests."""
