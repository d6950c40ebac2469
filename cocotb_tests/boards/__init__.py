"""Testbenches of `boards`."""
