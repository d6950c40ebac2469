"""The command line: its commands, and how it ends."""

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer
from typer.exceptions import TyperException

from golden.programs.array_types import ArrayTypeWarning
from openwmma.commands.build import build
from openwmma.commands.explain import explain
from openwmma.commands.layout import layout
from openwmma.commands.learn import learn
from openwmma.commands.matmul import matmul
from openwmma.commands.mma import mma
from openwmma.commands.presets import presets
from openwmma.commands.run import run
from openwmma.commands.verilog import verilog
from openwmma.usage import INTERRUPTED, MISUSE, exit_code

__all__ = ["app", "main"]

app = typer.Typer(
    help="An open tensor core: run PTX wmma programs on its golden model and on its RTL.",
    rich_markup_mode="markdown",
    add_completion=False,
    no_args_is_help=True,
)
for _command in (run, mma, matmul, explain, layout, learn, verilog, build, presets):
    app.command()(_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str or None
        None for those of the process.

    Returns
    -------
    int
        0 when all went well, 1 for a difference or a fault, 2 for bad usage, 130 for an interrupt.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        with _warnings_in_one_line():
            outcome = app(args=list(arguments) or ["--help"], prog_name="openwmma", standalone_mode=False)
    except TyperException as error:
        return _complain(error.format_message(), MISUSE)
    except Exception as error:
        code = exit_code(error)
        if code is None:
            raise
        text = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
        return _complain(text, code)
    if outcome == INTERRUPTED:
        return _complain("interrupted", INTERRUPTED)
    return outcome if isinstance(outcome, int) else 0


def _complain(message: str, code: int) -> int:
    print(f"openwmma: {message}", file=sys.stderr)
    return code


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Show warnings about the user's input without the place in our source."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", ArrayTypeWarning)
        show = warnings.showwarning

        def show_in_one_line(
            message: Warning | str, category: type[Warning], *place: object, **rest: object
        ) -> None:
            if issubclass(category, ArrayTypeWarning):
                print(f"openwmma: warning: {message}", file=sys.stderr)
            else:
                show(message, category, *place, **rest)  # type: ignore[arg-type]

        warnings.showwarning = show_in_one_line
        yield
