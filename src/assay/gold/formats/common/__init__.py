"""What the formats share: JSON, CSV, Parquet, Python literals and diffs with line numbers; what a writer lost."""
