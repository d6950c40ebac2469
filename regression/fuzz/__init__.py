"""Fuzzing: drawn and damaged input for every entrance of the project."""
