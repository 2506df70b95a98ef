"""Facts about a memory and its folder; prints nothing."""
