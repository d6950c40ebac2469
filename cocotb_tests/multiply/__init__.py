"""Testbenches of `hdl.multiply`."""
