"""Gold sets that other tools write: one module a format."""
