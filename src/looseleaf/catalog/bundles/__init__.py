"""The sources and targets of bundles and imports, as operations use them."""
