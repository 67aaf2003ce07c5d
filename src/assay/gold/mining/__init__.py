"""Mine proposals for a gold set from a repository and from logs; reviewers decide on each proposal."""
