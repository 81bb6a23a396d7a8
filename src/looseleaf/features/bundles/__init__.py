"""An agent as files: bundles to export, plan and install, their archives, and importers."""
