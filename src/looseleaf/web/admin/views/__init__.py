"""The views of the admin site, one package per subject; each calls operations and nothing else."""
