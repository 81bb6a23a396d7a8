"""Import of memory from other systems: read a source, plan the changes, write them as pages."""
