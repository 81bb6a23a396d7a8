"""The admin site: where people read, edit and curate what agents know."""
