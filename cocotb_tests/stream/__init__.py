"""Testbenches of `hdl.stream`."""
