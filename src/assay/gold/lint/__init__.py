"""Lint gold sets: rules with codes, each a verifiable fact about the set and its corpus."""
