"""Analysis and output of runs."""
