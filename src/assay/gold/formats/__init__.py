"""Readers and writers of gold formats, one module per format or family."""
