"""Lint gold sets. Each rule has a code and reports facts that can be verified in the set and its corpus."""
