"""Propose queries, phrasings and adversaries for a gold set; reviewers decide on each proposal."""
