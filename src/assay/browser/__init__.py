"""What runs in a browser: scripts and styles, and the shell that puts them into one page."""
