"""Child processes: third-party programs with time and output limits, and forks of this process."""
