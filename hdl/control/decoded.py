"""A command as the decoder gives it, and the operands that it finds on the way."""

from typing import Any, Final

from amaranth.hdl import Value, signed, unsigned
from amaranth.lib import data

from hdl.config import CoreConfig
from hdl.control.lookup import MORE_BITS
from hdl.control.scoreboard import Footprint, Range, Unit
from hdl.memory.access import AccessRequest
from hdl.memory.beats import CAUSE_BITS
from hdl.memory.row_addresses import RowRequest
from hdl.multiply.f64.request import F64Request
from hdl.multiply.tile.request import TileRequest
from hdl.multiply.tile.side_operands import side_registers, side_request
from hdl.registers.mover import MoveRequest

MAX_OPERANDS: Final = 7
"""Of a multiply: three fragments that it reads, one that it writes, metadata and two scales."""


class Decoded(data.Struct):
    """A command as the units take it; only the request for its `unit` has a meaning."""

    unit: Unit
    cause: unsigned(CAUSE_BITS)
    """Zero, or why the command is refused whatever its registers are."""
    beyond: unsigned(MAX_OPERANDS)
    """Of each operand whether its warp lacks a register of it: `Cause.REGISTER_RANGE`."""
    footprint: Footprint
    """The registers of its warp that it reads and writes."""
    memory: AccessRequest
    """For loads and stores, still to be checked."""
    rows: RowRequest
    """For loads and stores whose rows are listed, likewise."""
    tile: TileRequest
    f64: F64Request
    move: MoveRequest


class Operand(data.Struct):
    """A register of its warp that a command reads or writes, and `more` behind it; none unless `valid`."""

    valid: unsigned(1)
    first: unsigned(8)
    more: signed(MORE_BITS)


class Operands(data.Struct):
    """The operands of a command, as in its `Footprint`."""

    reads: data.ArrayLayout(Operand, 3)
    write: Operand


def side_layout(config: CoreConfig) -> data.StructLayout:
    """What a multiply has beside its fragments.

    Members
    -------
    present : unsigned(1)
        It has side operands.
    registers : array of Range
        Which registers it reads for them, in the order of `side_registers`; likewise not valid in others.
    request : side_request(config)
    """
    ranges = data.ArrayLayout(Range, len(side_registers(config)))
    return data.StructLayout({"present": 1, "registers": ranges, "request": side_request(config)})


def name_registers(operand: data.View, first: Value, more: Value | int, valid: Value | int = 1) -> list[Any]:
    """Let an operand be the register `first` and `more` behind it."""
    return [operand.valid.eq(valid), operand.first.eq(first), operand.more.eq(more)]
