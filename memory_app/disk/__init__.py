"""Every change of the file system: single calls, and whole files made of them."""
