"""Re-anchor a gold set from one commit to another, with Git's diff and parse trees."""
