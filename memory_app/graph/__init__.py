"""The knowledge graph as an immutable snapshot, and the nine operations on it."""
