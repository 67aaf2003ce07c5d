"""What the source says: words, definitions, token counts."""
