"""`python -m docs.tables`: writes every table of the reference pages into its place, between two comments.

The pages are in the repository as they are read; a test keeps their tables equal to the code's.
"""

import re
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
    alignment_table,
    format_table,
    fragment_registers,
    multiply_table,
    wgmma_table,
)
from docs.tables.limits import limit_table
from docs.tables.registers import register_fields, register_map

PAGES: Final = sorted((Path(__file__).parents[1] / "reference").glob("*.md"))
_PLACE: Final = re.compile(r"(<!-- table ([\w-]+) -->)\n.*?(<!-- end of table -->)", re.DOTALL)

TABLES: Final[dict[str, Callable[[], str]]] = {
    "alignment": alignment_table,
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
"""What makes the Markdown of each table, by its name in the pages."""


def with_tables(page: str) -> str:
    """A page whose tables are those that the code makes now; KeyError for a table of no such name."""
    return _PLACE.sub(lambda place: f"{place[1]}\n{TABLES[place[2]]().strip()}\n\n{place[3]}", page)


def main(arguments: list[str]) -> int:
    """Write all tables into the pages; what has not changed keeps its time for Sphinx."""
    if arguments:
        print("usage: python -m docs.tables", file=sys.stderr)
        return 2
    for path in PAGES:
        before = path.read_text()
        if (after := with_tables(before)) != before:
            path.write_text(after)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
