"""Testbenches of `hdl.memory`."""
