"""Testbenches of the unit for sums of groups: its stages, the unit, and results in bulk."""
