"""What a person sees of a command: the terminal, pages, portraits and comparisons."""
