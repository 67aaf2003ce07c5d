"""Tuned on one part, claimed on another: who may see which queries, and who looked."""
