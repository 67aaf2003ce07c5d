"""The grep of a patient person: `engine` is the kind, the other modules help it."""
