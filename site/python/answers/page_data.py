"""What the pages are built from: ``python -m answers.page_data FOLDER`` writes it as files."""

import json
import sys
from pathlib import Path
from typing import Any

from answers.archive import write_archive
from answers.tables import fragment_tables, instruction_tables
from answers.transposition_tables import transposition_tables
from openwmma.commands.learn import POLICY

MODULES_IN_THE_BROWSER = (
    "answers.core_program",
    "answers.microscope",
    "answers.unit_operations",
)
"""Each answers the questions of one page."""


def write_page_data(folder: Path) -> list[Path]:
    """Write every file.

    Parameters
    ----------
    folder : Path
        Made if it is not there.

    Returns
    -------
    list of Path
    """
    folder.mkdir(parents=True, exist_ok=True)
    tables: dict[str, Any] = {
        "instructions": instruction_tables(),
        "fragments": fragment_tables(),
        "transposition": transposition_tables(),
    }
    written = [folder / "golden.zip", folder / "policy.txt"]
    write_archive(written[0], MODULES_IN_THE_BROWSER)
    written[1].write_text(POLICY)
    for name, table in tables.items():
        written.append(folder / f"{name}.json")
        written[-1].write_text(json.dumps(table, separators=(",", ":")))
    return written


def main() -> int:
    """Write the files into the folder that the command line names."""
    if len(sys.argv) != 2:
        print("usage: python -m answers.page_data FOLDER", file=sys.stderr)
        return 2
    for path in write_page_data(Path(sys.argv[1])):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
