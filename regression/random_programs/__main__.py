"""``python -m regression.random_programs FOLDER``: a saved program again."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from regression.random_programs.failing import load_program
from regression.random_programs.running import difference

app = typer.Typer(add_completion=False)


@app.command()
def replay(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="With program.json, as a campaign saved it.")
    ],
) -> None:
    """Run a saved program overlapped and, if that goes well, command by command.

    The exit code is 1 if core and golden model differ.
    """
    if not (folder / "program.json").is_file():
        raise typer.BadParameter(f"expected a folder with program.json, not {folder}", param_hint="FOLDER")
    program = load_program(folder)
    found = difference(program) or difference(program, lockstep=True)
    print(json.dumps({"preset": program.preset, "seed": program.seed, "difference": found}))
    sys.exit(0 if found is None else 1)


if __name__ == "__main__":
    app()
