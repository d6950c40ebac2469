"""Testbenches of `hdl.registers`."""
