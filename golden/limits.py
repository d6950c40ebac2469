"""Limits that keep small inputs from taking hours or all of memory; each with a one-sentence error."""

from typing import Final

CALL_DEPTH: Final = 128
"""Calls within calls: every body is copied to where it is called."""

KERNEL_INSTRUCTIONS: Final = 1 << 18
"""Instructions of a kernel with the copies of all functions that it calls."""
