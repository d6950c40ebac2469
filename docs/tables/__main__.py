"""`python -m docs.tables FOLDER`: every table of the reference pages, as Markdown files.

The pages in `docs/reference` include them, so that a table changes with the code.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from docs.tables.command_line import campaigns, command_line, fuzzing, make_targets
from docs.tables.command_words import command_words, type_and_shape_codes
from docs.tables.configurations import (
    board_table,
    core_fields,
    fault_causes,
    preset_table,
    profile_table,
)
from docs.tables.instructions import (
    format_table,
    fragment_registers,
    multiply_table,
    wgmma_table,
)
from docs.tables.limits import limit_table
from docs.tables.registers import register_fields, register_map

__all__ = ["TABLES", "main"]

TABLES: Final[dict[str, Callable[[], str]]] = {
    "boards": board_table,
    "codes": type_and_shape_codes,
    "command-line": command_line,
    "campaigns": campaigns,
    "command-words": command_words,
    "core-fields": core_fields,
    "faults": fault_causes,
    "formats": format_table,
    "fragment-registers": fragment_registers,
    "fuzzing": fuzzing,
    "limits": limit_table,
    "make": make_targets,
    "multiplies": multiply_table,
    "presets": preset_table,
    "profiles": profile_table,
    "register-fields": register_fields,
    "register-map": register_map,
    "wgmma": wgmma_table,
}
"""What makes the Markdown of each table, by the name of its file."""


def main(arguments: list[str]) -> int:
    """Write all tables to the folder that is named; what has not changed keeps its time for Sphinx."""
    if len(arguments) != 1:
        print("usage: python -m docs.tables FOLDER", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in TABLES.items():
        path, text = folder / f"{name}.md", table()
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
