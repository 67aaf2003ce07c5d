"""Indexes that variants of a tool share: which settings belong to one, where it lies, who may use it."""
