"""The image's parts: how its contents are collected, and how it starts."""
