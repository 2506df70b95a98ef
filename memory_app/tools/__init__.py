"""What a model may call, as data, and each call as a function of a snapshot."""
