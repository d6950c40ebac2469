"""Testbenches of `hdl.control`."""
