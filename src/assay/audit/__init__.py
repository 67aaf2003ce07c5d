"""Contract checks of engines."""
