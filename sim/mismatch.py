"""Where two machines differ after an instruction, told in the terms of the matrix."""

import numpy as np
from numpy.typing import NDArray

from golden.lines import gather_lines
from golden.machine import Difference
from golden.programs.values import describe, describe_command
from golden.tables.commands import Command, Load, Mma, Store
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import Use
from golden.tables.layouts import FragmentLayout


def mismatch(index: int, command: Command | None, difference: str) -> Difference:
    """A difference of golden model and RTL after a command, or where that is not known, after `index`."""
    return Difference(difference, index, "" if command is None else describe_command(command))


_Destination = tuple[Use, int, FragmentLayout]
"""A fragment in registers: what it is of a multiply, and the first of its registers."""


def _destination(command: Command | None) -> _Destination | None:
    """The fragment that a command writes."""
    match command:
        case Load(instruction, register):
            return instruction.use, register, instruction.fragment
        case Mma(instruction, d):
            return "d", d, instruction.fragments["d"]
        case _:
            return None


def register_difference(
    command: Command | None, golden: NDArray[np.uint32], rtl: NDArray[np.uint32]
) -> str | None:
    """Compare all registers, shape (registers, 32 lanes), after a command; None where none has written any.

    The result is None where they are equal; else the number of differing registers and the first of them,
    with row and column where it belongs to the fragment that the command writes.
    """
    if np.array_equal(golden, rtl):
        return None
    places = np.argwhere(golden != rtl)
    count = f"{len(places)} of {golden.size} registers differ; the first is "
    destination = _destination(command)
    for register, lane in places.tolist():
        if destination and 0 <= register - destination[1] < destination[2].registers:
            return count + _element_difference(destination, register, lane, golden, rtl)
    register, lane = places[0].tolist()
    place = f"lane {lane}, register {register}"
    values = f"golden {golden[register, lane]:#010x}, rtl {rtl[register, lane]:#010x}"
    outside = ", outside the fragment that was written" if destination else ""
    return f"{count}{place}{outside}: {values}"


def _element_difference(
    destination: _Destination,
    register: int,
    lane: int,
    golden: NDArray[np.uint32],
    rtl: NDArray[np.uint32],
) -> str:
    use, first, layout = destination
    rows = slice(first, first + layout.registers)
    ours, theirs = (
        int.from_bytes(file[rows, lane].astype("<u4").tobytes(), "little") for file in (golden, rtl)
    )
    bits = layout.element_bits
    differing = ours ^ theirs
    element = ((differing & -differing).bit_length() - 1) // bits
    row, column = layout.position(lane, element)
    mask = (1 << bits) - 1
    values = [describe(layout.type, word >> (element * bits) & mask) for word in (ours, theirs)]
    return (
        f"row {row}, column {column} of {use} (lane {lane}, register {register}): "
        f"golden {values[0]}, rtl {values[1]}"
    )


def memory_difference(
    command: Command | None,
    base: int,
    golden: NDArray[np.uint8],
    rtl: NDArray[np.uint8],
    name: str = "memory",
) -> str | None:
    """Compare memory after a command, or after many, where the command is None.

    `base` is the address of the first byte, as the command counts addresses, `name` says in the message which
    memory. The result is None where they are equal; else the number of differing bytes and the first of them,
    with row and column where it belongs to the matrix that the command stores.
    """
    places = np.flatnonzero(golden != rtl)
    if not places.size:
        return None
    count = f"{places.size} bytes of {name} differ; the first is "
    if isinstance(command, Store):
        type_ = command.instruction.type
        size = FORMATS[type_].bits // 8
        for offset in places.tolist():
            found = _stored_position(command, base + offset)
            if found is not None:
                row, column = found
                start = offset - (base + offset - command.address) % size
                words = [
                    int.from_bytes(data[start : start + size].tobytes(), "little") for data in (golden, rtl)
                ]
                values = [describe(type_, word) for word in words]
                return (
                    f"{count}row {row}, column {column} of d (address {base + start:#x}): "
                    f"golden {values[0]}, rtl {values[1]}"
                )
    offset = int(places[0])
    outside = ", outside the matrix that was stored" if isinstance(command, Store) else ""
    values = [f"{data[offset]:#04x}" for data in (golden, rtl)]
    return f"{count}address {base + offset:#x}{outside}: golden {values[0]}, rtl {values[1]}"


def _stored_position(command: Store, address: int) -> tuple[int, int] | None:
    """Row and column of the element at `address`, if it is one of the stored matrix.

    Of rows (columns) that overlap the last one counts.
    """
    instruction = command.instruction
    lines = gather_lines(instruction, command.address, command.stride)
    for line, (start, count) in reversed(list(enumerate(lines))):
        if start <= address < start + count:
            place = (address - start) * 8 // FORMATS[instruction.type].bits
            return (line, place) if instruction.layout == "row" else (place, line)
    return None
