"""Facts about a memory and the folder it lies in; prints nothing."""
