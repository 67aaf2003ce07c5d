"""Any search API over HTTP: requests by template, answers by declared paths."""
