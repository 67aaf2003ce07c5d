"""Who does the work: this process, others on this machine, or a cluster; the results are the same."""
