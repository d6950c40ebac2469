"""Pin and timing constraints, one folder for each board: data, found by `importlib.resources`."""
