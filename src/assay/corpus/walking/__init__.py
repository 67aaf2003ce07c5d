"""Which files of a tree count, and what they are."""
