"""Scalar PTX instructions as functions on numpy arrays of raw bits, equal to an H200 in every bit.

Each module describes one family: lines of syntax, and functions that make an `Operation` of the qualifiers.
"""

from golden.scalar.form import Operation, UnsupportedInstruction
from golden.scalar.lookup import operation

__all__ = ["Operation", "UnsupportedInstruction", "operation"]
