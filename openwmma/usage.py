"""Errors of the command line, and the exit code of every error."""

from boards.host.link import LinkError
from boards.soc.simulate import ProgramError
from golden.invalid_argument import InvalidArgument
from golden.machine import Difference
from golden.programs.execution import ProgramFault
from golden.ptx.source import PtxError
from golden.simt.errors import KernelFault, LaunchError
from golden.tables.matrix_instructions import IllegalInstruction
from openwmma.cuda_source import CompilerError
from openwmma.usage_error import UsageError
from sim.capabilities import CapabilityError
from sim.simulation import SimulationError
from sim.verilate import BuildError

__all__ = ["FAILURE", "INTERRUPTED", "MISUSE", "UsageError", "exit_code"]

FAILURE = 1
"""Exit code for a difference, a fault, and hardware or tools that fail."""

MISUSE = 2
"""Exit code for input that cannot be used."""


INTERRUPTED = 130
"""Exit code for Ctrl-C: 128 and the number of the signal."""

_CODES: dict[type[Exception], int] = {
    UsageError: MISUSE,
    PtxError: MISUSE,
    IllegalInstruction: MISUSE,
    InvalidArgument: MISUSE,
    OSError: MISUSE,
    MemoryError: MISUSE,
    LaunchError: MISUSE,
    KernelFault: FAILURE,
    CompilerError: MISUSE,
    Difference: FAILURE,
    ProgramFault: FAILURE,
    CapabilityError: MISUSE,
    SimulationError: FAILURE,
    BuildError: FAILURE,
    ProgramError: FAILURE,
    LinkError: MISUSE,
}


def exit_code(error: Exception) -> int | None:
    """The exit code for an error; None for one that no input may cause."""
    return next((code for kind, code in _CODES.items() if isinstance(error, kind)), None)
