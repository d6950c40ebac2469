"""PTX text: instructions and modules, parsed and checked against the tables.

What is malformed, illegal or not supported in a text is a `PtxError`, which says where it stands.
"""

from golden.ptx.mnemonic import parse_instruction
from golden.ptx.source import PtxError, SourceLine

__all__ = ["PtxError", "SourceLine", "parse_instruction"]
