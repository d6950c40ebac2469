"""What the harness and the machine use of the host interface: addresses from the hardware, and bits."""

from typing import Final

from hdl.control.host import REGISTERS, WINDOW

__all__ = [
    "CLEAR",
    "COMMAND",
    "CONTROL",
    "COUNTERS",
    "FAULT_CAUSE",
    "FAULT_INDEX",
    "STATUS",
    "STATUS_BUSY",
    "STATUS_FAULT",
    "STATUS_FREE",
    "register_address",
]

CONTROL: Final = REGISTERS["CONTROL"]
CLEAR: Final = 1
STATUS: Final = REGISTERS["STATUS"]
STATUS_BUSY: Final = 1 << 0
STATUS_FAULT: Final = 1 << 1
STATUS_FREE: Final = 0xFF << 8
FAULT_CAUSE: Final = REGISTERS["FAULT_CAUSE"]
FAULT_INDEX: Final = REGISTERS["FAULT_INDEX"]
COMMAND: Final = REGISTERS["COMMAND"]

COUNTERS: Final = {
    "instructions": REGISTERS["INSTRUCTIONS"],
    "cycles": REGISTERS["CYCLES"],
    "dot_product_cycles": REGISTERS["DOT_PRODUCT_CYCLES"],
    "read_beats": REGISTERS["READ_BEATS"],
    "write_beats": REGISTERS["WRITE_BEATS"],
}
"""Addresses of the low words of the 64-bit counters, by their names in `golden.machine.Counters`."""


def register_address(register: int) -> int:
    """The host address of lane 0 of a fragment register; the other lanes follow."""
    return WINDOW + 128 * register
