"""How jobs run in a workspace: the worker, and what the steps of a job may use."""
