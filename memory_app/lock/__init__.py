"""One lock file that the writers of all processes, the npm server's too, agree on."""
