"""Whether an engine keeps the laws that a number about it rests on. `running.run_audit` asks, `pages` tells."""
