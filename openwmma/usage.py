"""Errors of the command line: what is said of each, and its exit code."""

import re
from typing import Any

from golden.integers import shortened
from openwmma.terminal import tell

FAILURE = 1
"""Exit code for a difference, a fault, and hardware or tools that fail."""

MISUSE = 2
"""Exit code for input that cannot be used."""


INTERRUPTED = 130
"""Exit code for Ctrl-C: 128 and the number of the signal."""

_CODES = {
    "openwmma.usage_error.UsageError": MISUSE,
    "golden.ptx.source.PtxError": MISUSE,
    "golden.tables.matrix_instructions.IllegalInstruction": MISUSE,
    "golden.invalid_argument.InvalidArgument": MISUSE,
    "builtins.OSError": MISUSE,
    "builtins.MemoryError": MISUSE,
    "golden.simt.errors.LaunchError": MISUSE,
    "golden.simt.errors.KernelFault": FAILURE,
    "openwmma.cuda_source.CompilerError": MISUSE,
    "golden.machine.Difference": FAILURE,
    "golden.programs.execution.ProgramFault": FAILURE,
    "sim.capabilities.CapabilityError": MISUSE,
    "sim.simulation.SimulationError": FAILURE,
    "sim.verilate.BuildError": FAILURE,
    "boards.soc.simulate.ProgramError": FAILURE,
    "boards.host.link.errors.LinkError": MISUSE,
}
"""By the full name of the class: whoever raised an error has loaded it."""

_OF_SEVERAL_LINES = (
    "sim.verilate.BuildError",
    "openwmma.cuda_source.CompilerError",
    "golden.machine.Difference",
)
"""Errors with what a tool said, or with a table."""


def explain_error(error: Exception) -> int | None:
    """Print what an error says and return its exit code; None for an error that no input may cause."""
    names = [f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__]
    code = next((code for name, code in _CODES.items() if name in names), None)
    if code is None:
        return None
    several_lines = any(name in names for name in _OF_SEVERAL_LINES)
    text = _told(error) if isinstance(error, OSError) else str(error) or "there is not enough memory"
    return complain(text, code, lines=several_lines)


def _told(error: OSError) -> str:
    """One sentence about an error of the system, which need not have a file or a number."""
    reason = error.strerror or str(error) or type(error).__name__
    return reason if error.filename is None else f"{error.filename}: {reason}"


def explain_option(error: Any) -> str:
    """One sentence about a wrong option: typer's own, with the value in it."""
    text = " ".join(error.format_message().split()).replace("Value error, ", "")
    wrong: list[Any] = getattr(error.__cause__ or error.__context__, "errors", list)()
    if "Input should be " in text and wrong:
        text = re.sub(r", unable to parse.*", "", text).replace("Input should be ", "expected ")
        return f"{text}, not {shortened(wrong[0]['input'])}"
    return text


def complain(message: str, code: int, *, lines: bool = False) -> int:
    """Print what is wrong, and return the exit code."""
    tell(f"openwmma: {message}", error=True, lines=lines)
    return code
