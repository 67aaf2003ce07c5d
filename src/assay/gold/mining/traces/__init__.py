"""What people and agents left behind: shell histories and transcripts that the user names."""
