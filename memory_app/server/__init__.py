"""MCP: the only package that knows the SDK."""
