"""Functional coverage: what must have been seen of the core, as data, and whether it was."""
