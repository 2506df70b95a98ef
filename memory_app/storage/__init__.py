"""The memory on disk: load it, one writer, save it."""
