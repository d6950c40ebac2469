"""The kinds of input by name, and how often each comes."""

from collections.abc import Mapping
from typing import Final

from regression.fuzz.calls import API, ARRAYS
from regression.fuzz.command_lines import COMMAND_LINES
from regression.fuzz.control_programs import CONTROL_PROGRAMS
from regression.fuzz.kind import Kind
from regression.fuzz.launches import LAUNCHES
from regression.fuzz.ptx import PTX
from regression.fuzz.scalar_programs import SCALAR_PROGRAMS
from regression.fuzz.server_requests import REQUESTS

KINDS: Final[Mapping[str, Kind]] = {
    "ptx": PTX,
    "valid": SCALAR_PROGRAMS,
    "control": CONTROL_PROGRAMS,
    "launch": LAUNCHES,
    "array": ARRAYS,
    "api": API,
    "cli": COMMAND_LINES,
    "server": REQUESTS,
}

_OFTEN: Final = {"ptx": 7, "valid": 1, "control": 1, "launch": 3, "array": 3, "api": 3, "cli": 1, "server": 1}

SCHEDULE: Final = tuple(name for name, count in _OFTEN.items() for _ in range(count))
"""The kind of input `number` is ``SCHEDULE[number % len(SCHEDULE)]`` in a campaign of all kinds."""
