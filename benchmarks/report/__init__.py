"""What a report costs to make, how large it is, and how soon it stands in a browser."""
