"""The file system, used safely: atomic writes, folders opened without following links, mounts."""
