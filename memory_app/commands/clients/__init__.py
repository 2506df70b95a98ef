"""The clients that can be set up, where each keeps its configuration on each system, and in which format.

`catalogue` knows the clients, `entry` what is written for them; `jsonc`, `toml` and `yaml` change the text of a file,
and `editing` puts these together. Only `editing` changes the file system.
"""
