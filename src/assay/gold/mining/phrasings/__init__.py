"""Further phrasings of one intent, by rules or by an endpoint."""
