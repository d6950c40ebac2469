"""PTX text: single instructions, and whole modules as programs that give a machine its commands.

What is malformed, illegal or not supported in a text is a `PtxError`, which says where it stands.

The names below load their modules on first use, so that `parse_instruction` needs no numpy.
"""

from typing import TYPE_CHECKING

from golden.first_use import loaded_on_first_use

if TYPE_CHECKING:
    from golden.ptx.mnemonic import parse_instruction
    from golden.ptx.program import Entry, Program, parse_module
    from golden.ptx.source import PtxError, SourceLine

__all__ = ["Entry", "Program", "PtxError", "SourceLine", "parse_instruction", "parse_module"]

__getattr__, __dir__ = loaded_on_first_use(
    __name__,
    {
        **dict.fromkeys(("Entry", "Program", "parse_module"), "golden.ptx.program"),
        **dict.fromkeys(("PtxError", "SourceLine"), "golden.ptx.source"),
        "parse_instruction": "golden.ptx.mnemonic",
    },
)
