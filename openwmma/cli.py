"""The command line: its commands, and how it ends."""

import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer
from typer.exceptions import TyperException

from golden.programs.kernel_run import ArrayTypeWarning
from openwmma.commands.build import build
from openwmma.commands.campaign import CONTEXT, campaign
from openwmma.commands.certify import certify
from openwmma.commands.explain import explain
from openwmma.commands.layout import layout
from openwmma.commands.learn import learn
from openwmma.commands.matmul import matmul
from openwmma.commands.mma import mma
from openwmma.commands.presets import presets
from openwmma.commands.replay import replay
from openwmma.commands.run import run
from openwmma.commands.soc import soc
from openwmma.commands.verilog import verilog
from openwmma.terminal import encodable, tell
from openwmma.usage import INTERRUPTED, MISUSE, complain, explain_error

__all__ = ["app", "main"]

app = typer.Typer(
    help="An open tensor core: run PTX wmma programs on its golden model and on its RTL.",
    rich_markup_mode="markdown",
    add_completion=False,
    no_args_is_help=True,
)
for _command in (run, replay, mma, matmul, explain, layout, learn, verilog, build, soc, presets, certify):
    app.command()(_command)
app.command(context_settings=CONTEXT)(campaign)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str or None
        None for the arguments of the process.

    Returns
    -------
    int
        0 when all went well, 1 for a difference or a fault, 2 for bad usage, 130 for an interrupt or SIGTERM.
    """
    if arguments is None:
        arguments = sys.argv[1:]
        # Like an interrupt it ends what was started, and leaves no file half written.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    encodable(sys.stdout)
    try:
        with _warnings_in_one_line():
            outcome = app(args=list(arguments) or ["--help"], prog_name="openwmma", standalone_mode=False)
    except TyperException as error:
        return complain(" ".join(error.format_message().split()), MISUSE)
    except Exception as error:
        code = explain_error(error)
        if code is None:
            raise
        return code
    if outcome == INTERRUPTED:
        return complain("interrupted", INTERRUPTED)
    return outcome if isinstance(outcome, int) else 0


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
                tell(f"openwmma: warning: {message}", error=True)
            else:
                show(message, category, *place, **rest)  # type: ignore[arg-type]

        warnings.showwarning = show_in_one_line
        yield
