"""Runs in the browser: those of some folders, one of them, two of them side by side, a query asked again."""
