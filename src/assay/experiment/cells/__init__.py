"""Cells: one engine on one gold set."""
