"""Move the anchors of a gold set from one commit to another, with git's diff and the parse tree."""
