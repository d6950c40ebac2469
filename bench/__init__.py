"""Benchmarks: each module prints a table and writes JSON into build/bench."""
