"""The local web server: run explorer and gold review."""
