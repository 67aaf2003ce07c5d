"""Proposals for a gold set, mined from a repository and from logs; reviewers decide on each."""
