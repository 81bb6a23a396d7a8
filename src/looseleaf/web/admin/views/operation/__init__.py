"""Operation: people, settings, the audit, health, requests, backups, bundles and imports."""
