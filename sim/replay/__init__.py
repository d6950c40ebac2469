"""Executes the trace of a launch on a machine, as a stream of commands, and compares."""
