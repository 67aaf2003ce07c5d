"""Source text: words, definitions, prose, lines and tokens."""
