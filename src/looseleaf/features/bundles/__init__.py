"""An agent as files: bundles to export, inspect, plan, install and upgrade; their archives."""
