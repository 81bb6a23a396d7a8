"""The REST routes: tables that name operations, and the OpenAPI document."""
