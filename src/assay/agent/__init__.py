"""The MCP server for coding agents: search, explanations, benchmarks."""
