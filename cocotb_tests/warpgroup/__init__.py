"""Testbenches of the units of `wgmma`."""
