"""Many clients over HTTP."""
