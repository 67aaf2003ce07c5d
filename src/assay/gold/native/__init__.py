"""The native format: YAML in five layers, read as nodes, written, and changed in place."""
