"""Commands: from the host to the units."""
