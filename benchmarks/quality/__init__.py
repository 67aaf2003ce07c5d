"""How good is the reference engine? By Assay's own runner and statistics, on gold sets that other people made.

Results hold scores, names of repositories and hashes; nothing of anybody's code and no query.
"""
