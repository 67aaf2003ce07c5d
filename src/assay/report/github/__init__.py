"""What GitHub shows of a gate: a job summary, one comment that is kept up to date, annotations beside the lines."""
