"""What an answer says, as hits: JSON, JSON lines, text, by declared rules or by the names that tools use."""
