"""Plausible wrong answers: what is near the right one, and what engines take for it."""
