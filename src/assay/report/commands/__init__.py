"""What single commands show: one module a command."""
