"""What a comparison rests on: one run, several repeats of it, or a baseline file that is kept in version control."""
