"""Cells: one engine on one gold set, asked anywhere, kept, and put together to a run."""
