"""Traces of a simulated core: what each unit does with each command, in cycles, for Perfetto."""
