"""What the harness and the machine use of the host interface: addresses from the hardware, and bits."""

from typing import Final

from hdl.control.host import REGISTERS, SHARED_WINDOW, WINDOW

__all__ = [
    "CLEAR",
    "COMMAND",
    "CONFIGURATION",
    "CONTROL",
    "COUNTERS",
    "FAULT_CAUSE",
    "FAULT_INDEX",
    "FORMATS",
    "IDENTITY_ADDRESS",
    "MEMORY",
    "MODE",
    "SERIAL",
    "SHARED_BASE",
    "SHARED_SIZE",
    "SHARED_WINDOW",
    "STATUS",
    "STATUS_BUSY",
    "STATUS_FAULT",
    "STATUS_FREE",
    "UNITS",
    "VERSION_ADDRESS",
    "register_address",
]

IDENTITY_ADDRESS: Final = REGISTERS["IDENTITY"]
VERSION_ADDRESS: Final = REGISTERS["VERSION"]
FORMATS: Final = REGISTERS["FORMATS"]
CONFIGURATION: Final = REGISTERS["CONFIGURATION"]
UNITS: Final = REGISTERS["UNITS"]
MEMORY: Final = REGISTERS["MEMORY"]
SHARED_SIZE: Final = REGISTERS["SHARED_SIZE"]
SHARED_BASE: Final = REGISTERS["SHARED_BASE"]
CONTROL: Final = REGISTERS["CONTROL"]
CLEAR: Final = 1
MODE: Final = REGISTERS["MODE"]
SERIAL: Final = 1
STATUS: Final = REGISTERS["STATUS"]
STATUS_BUSY: Final = 1 << 0
STATUS_FAULT: Final = 1 << 1
STATUS_FREE: Final = 0x1FF << 8
FAULT_CAUSE: Final = REGISTERS["FAULT_CAUSE"]
FAULT_INDEX: Final = REGISTERS["FAULT_INDEX"]
COMMAND: Final = REGISTERS["COMMAND"]

COUNTERS: Final = {
    name: REGISTERS[name.upper()]
    for name in (
        "instructions",
        "cycles",
        "dot_product_cycles",
        "read_beats",
        "write_beats",
        "stall_registers",
        "stall_memory",
        "stall_unit",
        "stall_empty",
    )
}
"""Addresses of the low words of the 64-bit counters, by their names in `golden.machine.Counters`."""


def register_address(register: int) -> int:
    """The host address of lane 0 of a fragment register; the other lanes follow."""
    return WINDOW + 128 * register
