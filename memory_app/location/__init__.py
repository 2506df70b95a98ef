"""Which file is the memory, and bringing an old one to its place."""
