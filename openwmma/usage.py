"""Errors of the command line: what is said of each, and its exit code."""

from boards.host.link import LinkError
from boards.soc.simulate import ProgramError
from golden.invalid_argument import InvalidArgument
from golden.machine import Difference
from golden.programs.execution import ProgramFault
from golden.ptx.source import PtxError
from golden.simt.errors import KernelFault, LaunchError
from golden.tables.matrix_instructions import IllegalInstruction
from openwmma.cuda_source import CompilerError
from openwmma.terminal import tell
from openwmma.usage_error import UsageError
from sim.capabilities import CapabilityError
from sim.simulation import SimulationError
from sim.verilate import BuildError

__all__ = ["FAILURE", "INTERRUPTED", "MISUSE", "UsageError", "complain", "explain_error"]

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

_OF_SEVERAL_LINES = (BuildError, CompilerError, Difference)
"""Errors with what a tool said, or with a table."""


def explain_error(error: Exception) -> int | None:
    """Print what an error says and return its exit code; None for an error that no input may cause."""
    code = next((code for kind, code in _CODES.items() if isinstance(error, kind)), None)
    if code is None:
        return None
    text = _told(error) if isinstance(error, OSError) else str(error) or "there is not enough memory"
    return complain(text, code, lines=isinstance(error, _OF_SEVERAL_LINES))


def _told(error: OSError) -> str:
    """One sentence about an error of the system, which need not have a file or a number."""
    reason = error.strerror or str(error) or type(error).__name__
    return reason if error.filename is None else f"{error.filename}: {reason}"


def complain(message: str, code: int, *, lines: bool = False) -> int:
    """Print what is wrong, and return the exit code."""
    tell(f"openwmma: {message}", error=True, lines=lines)
    return code
