"""An index on disk: where it lives, what its bytes mean, and who may write it."""
