"""Testbenches of the f64 fused multiply-add: each stage, the unit, and results in bulk."""
