"""JavaScript and CSS of the report and the web pages."""
