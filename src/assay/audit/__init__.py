"""Contract checks of engines: determinism, prefix consistency, filters, paths."""
