"""Tables of the reference pages, written from the code that they describe.

`conf.py` calls `write_tables` before Sphinx reads its sources. The pages in `docs/reference` include the
files, so that a table changes with the code.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from reference_tables.command_line import command_line, make_targets, random_programs
from reference_tables.command_words import command_words, type_and_shape_codes
from reference_tables.configurations import (
    board_table,
    core_fields,
    fault_causes,
    preset_table,
    profile_table,
)
from reference_tables.instructions import (
    format_table,
    fragment_registers,
    multiply_table,
    wgmma_table,
)
from reference_tables.registers import register_fields, register_map

__all__ = ["TABLES", "write_tables"]

TABLES: Final[dict[str, Callable[[], str]]] = {
    "boards": board_table,
    "codes": type_and_shape_codes,
    "command-line": command_line,
    "command-words": command_words,
    "core-fields": core_fields,
    "faults": fault_causes,
    "formats": format_table,
    "fragment-registers": fragment_registers,
    "make": make_targets,
    "multiplies": multiply_table,
    "presets": preset_table,
    "profiles": profile_table,
    "random-programs": random_programs,
    "register-fields": register_fields,
    "register-map": register_map,
    "wgmma": wgmma_table,
}
"""What makes the Markdown of each table, by the name of its file."""


def write_tables(folder: Path) -> None:
    """Write every table; files whose text is the same keep their time, so that Sphinx need not read them.

    Parameters
    ----------
    folder : Path
        Made if it does not exist.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in TABLES.items():
        path, text = folder / f"{name}.md", table()
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
