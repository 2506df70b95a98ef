"""How memory-server.pyz starts. Python 2.7 reads it too, and must report what is wrong."""
