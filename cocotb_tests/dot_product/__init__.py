"""Testbenches of the dot-product unit and its stages."""
