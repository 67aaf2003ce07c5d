"""Speed and memory of the reference engine beside semble 0.7.0."""
