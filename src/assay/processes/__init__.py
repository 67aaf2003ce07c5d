"""Run third-party programs without a shell, in bounded time and memory, leaving no processes behind."""
