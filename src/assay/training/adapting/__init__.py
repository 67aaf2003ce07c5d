"""A model made fit for one code base, if a test shows that it is the better one there."""
