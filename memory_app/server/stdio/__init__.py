"""One client over pipes."""
