"""Where a gold set is asked: its corpus at hand, our own files out of sight, a copy for whoever writes."""
