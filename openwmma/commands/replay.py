"""`openwmma replay`: the trace of a launch on a core."""

from pathlib import Path
from typing import Annotated

import typer

from golden.simt.trace_file import TraceReader
from openwmma.input_files import require_input
from openwmma.launching import open_player
from openwmma.options import Force, with_options
from openwmma.output_files import require_outputs
from openwmma.report import print_replay
from openwmma.target import MachineKind, Target
from openwmma.usage_error import UsageError


@with_options("config", "gpu", on=MachineKind.RTL)
def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `openwmma run --trace-file` wrote.")],
    *,
    target: Target,
    force: Force = False,
) -> int:
    """Execute the matrix instructions of a launch on a core, and compare what they read and write.

    A launch writes the trace, which a core then executes:

        openwmma run kernel.ptx --grid 2,2 --block 128 --arg a.npy --arg d.npy --trace-file k.trace
        openwmma replay k.trace --on rtl --preset standard

    The exit code is 1 for a difference.
    """
    if target.on not in (MachineKind.RTL, MachineKind.LOCKSTEP, MachineKind.BOARD):
        raise UsageError(f"--on {target.on.value}: expected rtl, lockstep or board, which have a core")
    require_input(file, "expected the trace of a launch")
    require_outputs(target.outputs, [file], force=force)
    with file.open("rb") as opened:
        found = TraceReader(opened, str(file))
        with open_player(target) as player:
            counters = player.play(found)
    print_replay(found.head.kernel, target, counters, player.config)
    return 0
