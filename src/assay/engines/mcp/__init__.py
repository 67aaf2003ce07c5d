"""MCP servers under test, over stdio or streamable HTTP."""
