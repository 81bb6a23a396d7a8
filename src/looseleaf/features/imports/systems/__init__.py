"""The systems that memory is imported from: one module for each."""
