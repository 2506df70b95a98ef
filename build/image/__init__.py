"""The image's parts: what it is collected from, and how it starts."""
