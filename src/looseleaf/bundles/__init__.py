"""An agent as files: bundles to export, plan and install, and the archives that carry them."""
