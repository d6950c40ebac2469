"""The command line: its commands, and how it ends."""

import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from openwmma.terminal import encodable, tell
from openwmma.usage import INTERRUPTED, MISUSE, complain, explain_error, explain_option

COMMANDS: Final = {
    "run": "Run a kernel.",
    "replay": "Execute the matrix instructions of a launch on a core, and compare what they read and write.",
    "mma": "Multiply a batch of tiles, D = A B + C: each loaded, multiplied and stored.",
    "matmul": "Multiply matrices of any size as PyTorch does on a Hopper GPU, to the bit.",
    "explain": "Show every step from one row of A, one column of B and one element of C to the element of D.",
    "layout": "Show which lane and register of the warp holds each element of a matrix.",
    "learn": "Serve the teaching pages on this computer and open them.",
    "verilog": "Write the core as one file of plain Verilog-2001, for any simulator and any synthesis.",
    "build": "Build a board's bitstream, with a report of what it takes and how fast its clock may be.",
    "soc": "Simulate the whole SoC of a board, with processor and core, running a C program.",
    "presets": "List the configurations that --preset takes.",
    "doctor": "List the installed tools, and the compiler of each preset's simulation, with the reason.",
    "certify": "Compare the golden model with a GPU, in every bit, for all instructions that both have.",
    "campaign": "Run random programs, mutants, coverage, tests or launches on all cores or a Dask cluster.",
}
"""The first line of each command's help, which loads no command."""


class _Commands(TyperGroup):
    """Loads a command from the module of its name."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands: dict[str, Any] = dict.fromkeys(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in COMMANDS and self.commands[cmd_name] is None:
            module = import_module(f"openwmma.commands.{cmd_name}")
            alone = typer.Typer(rich_markup_mode="markdown", add_completion=False)
            context = getattr(module, "CONTEXT", None)
            alone.command(cmd_name, context_settings=context)(getattr(module, cmd_name))
            self.commands[cmd_name] = typer.main.get_command(alone)
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        from typer._click.shell_completion import CompletionItem  # noqa: PLC0415

        found = [
            CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)
        ]
        return found or super(TyperGroup, self).shell_complete(ctx, incomplete)


app = typer.Typer(
    cls=_Commands,
    help="An open tensor core: run PTX wmma programs on its golden model and on its RTL.",
    rich_markup_mode=None,
    no_args_is_help=True,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from openwmma.version import __version__  # noqa: PLC0415  reads the metadata of the package

        tell(f"openwmma {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, with the arguments of the process unless some are given.

    The result is 0 when all went well, 1 for a difference or a fault, 2 for bad usage, 130 for an interrupt
    or SIGTERM.
    """
    if arguments is None:
        arguments = sys.argv[1:]
        # Like an interrupt it ends what was started, and leaves no file half written.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    encodable(sys.stdout)
    try:
        outcome = app(args=list(arguments) or ["--help"], prog_name="openwmma", standalone_mode=False)
    except TyperException as error:
        return complain(explain_option(error), MISUSE)
    except Exception as error:
        code = explain_error(error)
        if code is None:
            raise
        return code
    if outcome == INTERRUPTED:
        return complain("interrupted", INTERRUPTED)
    return outcome if isinstance(outcome, int) else 0
