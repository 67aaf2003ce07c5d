"""report.html: numbers, queries, rankings and source excerpts in one file."""
