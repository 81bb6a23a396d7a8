"""How operations reach bundles and imports: their source, and where they go here."""
