"""The clients that can be set up, where each keeps its configuration on each system, and in which form.

`table` knows the clients, `entry` what is written for them, `jsonc` and `toml` change a file in place, `editing` puts
these together. Nothing here touches the file system but `editing`.
"""
