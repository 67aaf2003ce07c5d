"""Any MCP server under test, over stdio or streamable HTTP."""
