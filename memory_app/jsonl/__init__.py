"""The file format: bytes to records and back, nothing lost."""
