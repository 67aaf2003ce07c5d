"""Commits of git repositories, and what git knows about a folder."""
