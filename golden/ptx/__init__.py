"""PTX text: single instructions, and whole modules as programs that give a machine its commands."""

from golden.ptx.mnemonic import parse_instruction
from golden.ptx.program import Entry, Program, parse_module
from golden.ptx.source import PtxError, SourceLine

__all__ = ["Entry", "Program", "PtxError", "SourceLine", "parse_instruction", "parse_module"]
