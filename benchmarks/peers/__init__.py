"""Assay's engines beside real peers, each by its adapter, in one run of Assay's own harness.

Results hold scores, names of repositories and figures; nothing of anybody's code and no query.
"""
