"""What a report costs to make, and how large it is."""
