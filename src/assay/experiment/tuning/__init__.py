"""What is each part worth, and which settings are best? Ablations and grids, and the honest worth of a choice."""
