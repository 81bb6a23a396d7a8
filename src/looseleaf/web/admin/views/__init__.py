"""The views of the core's pages, one module per subject; each calls operations and no more."""
