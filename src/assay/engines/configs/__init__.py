"""Configuration files of tools: rendered from a template by key edits; nothing in them is executed."""
