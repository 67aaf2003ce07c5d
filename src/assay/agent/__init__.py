"""Assay as a tool of coding agents: an MCP server that searches, explains itself, and measures engines."""
