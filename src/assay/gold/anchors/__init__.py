"""Does the gold fit the code? Targets looked up in a corpus: paths, lines, symbols, content hashes."""
