"""Lint rules for gold sets."""
