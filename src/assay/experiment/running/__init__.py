"""Running experiments: interleaved with timing, or as independent cells."""
