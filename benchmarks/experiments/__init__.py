"""What experiments cost: sweeps that share work, clusters, and ten thousand repositories."""
