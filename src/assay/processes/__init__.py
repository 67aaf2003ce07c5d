"""Run third-party programs without a shell, with timeouts and output limits, and end their descendants."""
