"""How memory-server.pyz starts. Read by Python 2.7 too, which has to be told what is wrong."""
