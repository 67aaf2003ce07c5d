"""Any command line tool: run once for each query, or started once and talked to."""
