"""Analyze source text: identifiers, definitions, prose, lines and tokens."""
