"""What the harness and the machine use of the register map: addresses, and masks of fields."""

from typing import Final

from hdl import command
from hdl.control.host.register_map import COUNTERS as _COUNTERS
from hdl.control.host.register_map import REGISTER_MAP, REGISTERS

CONTROL: Final = REGISTERS["CONTROL"]
CLEAR: Final = REGISTER_MAP["CONTROL"]["clear"].mask
MODE: Final = REGISTERS["MODE"]
SERIAL: Final = REGISTER_MAP["MODE"]["serial"].mask
STATUS: Final = REGISTERS["STATUS"]
STATUS_BUSY: Final = REGISTER_MAP["STATUS"]["busy"].mask
STATUS_FAULT: Final = REGISTER_MAP["STATUS"]["fault"].mask
STATUS_FREE: Final = REGISTER_MAP["STATUS"]["free"].mask
INTERRUPT_ENABLE: Final = REGISTERS["INTERRUPT_ENABLE"]
INTERRUPT_AT_FAULT: Final = REGISTER_MAP["INTERRUPT_ENABLE"]["fault"].mask
FAULT_CAUSE: Final = REGISTERS["FAULT_CAUSE"]
FAULTS: Final = REGISTERS["FAULTS"]
WARP: Final = REGISTERS["WARP"]
FAULT_INDEX: Final = REGISTERS["FAULT_INDEX"]
COMMAND: Final = REGISTERS["COMMAND"]
COMMAND_WORDS: Final = command.COMMAND_WORDS
BANK_CONFLICTS: Final = REGISTERS["BANK_CONFLICTS"]

COUNTERS: Final = {name.lower(): REGISTERS[name] for name in _COUNTERS}
"""Addresses of the low words of the 64-bit counters, by their names in `golden.machine.Counters`."""
