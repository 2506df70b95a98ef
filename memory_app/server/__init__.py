"""MCP: the only package that knows the SDK.

It also imports anyio, h11, pydantic, pydantic_core, typing_extensions and uvicorn, and no other package of the program
does. They are not declared: the pinned SDK requires each of them and decides on its version, which a test checks.
"""
