"""Packages of PyPI, or of whatever index the user's pip is set to."""
