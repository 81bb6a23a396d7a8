"""Requests to other servers: an allow-list, checked addresses, and limits of time and size."""
