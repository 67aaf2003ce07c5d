"""What a repository says about itself: its history, its documents, its comments, its names."""
