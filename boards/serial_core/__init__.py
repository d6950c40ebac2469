"""A core for small FPGAs: the same commands and results, one element after the other."""
