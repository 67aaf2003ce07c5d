"""Review of proposals: a queue of items, blinded votes, adjudication, and acceptance into the gold set."""
