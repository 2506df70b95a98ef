"""Replacements in the archive for packages that the SDK imports and the server never uses. One module per package."""
