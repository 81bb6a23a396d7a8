"""Everything one can do: each operation once, as a typed function that every surface names."""
