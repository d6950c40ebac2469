"""Proofs: what holds of a unit for every input, shown by a solver."""
