"""Which registers of the machine hold the fragment registers of an entry.

A machine wants each fragment in consecutive registers, whereas PTX names them one by one in braces. The
vectors of an entry therefore tie registers together into *groups* with fixed distances. A vector that
contradicts the ties made so far (a register twice, or in another order) gets a *window* of its own for
the length of its statement, and its registers are copied into it before, or out of it after. Groups
that never hold a wanted value in the same statement may share registers.

The pragma ``openwmma.raw_registers``: a verification program reads a register as whatever it likes, and wants
its fragments in certain registers. In an entry with this pragma every 32-bit register *is* the machine
register of its number (``%r12`` is register 12). A vector names 32-bit registers one after the other; for f64
two an element, the low half first. What they hold is not checked, ``.satfinite`` may stand wherever the WMMA
API has it, and ``wgmma.mma_async`` is the core's command for one tile of a warp.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from golden.ptx.blocks import Block
from golden.ptx.liveness import live_registers, mask, members, walk
from golden.ptx.matrix import WarpStatement
from golden.ptx.source import Source
from golden.ptx.syntax import Register
from golden.tables.instruction_set import Use

RAW_REGISTERS: Final = "openwmma.raw_registers"
"""The string of the ``.pragma`` directive, between the parameters and the body of an entry."""


@dataclass(frozen=True)
class Allocation:
    """Places in the machine's register file."""

    position: Mapping[str, int]
    """First machine register of each fragment register, by key."""
    window: Mapping[tuple[int, Use], int]
    """First machine register of each vector, by statement index and operand; the registers of one that are
    elsewhere are copied."""
    registers: int


@dataclass
class _Group:
    """Registers with fixed distances, or the window of one copied vector."""

    offsets: dict[str, int] = field(default_factory=dict)
    """Distance of each register, by key, from the group's first machine register."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Machine registers that each takes."""
    live: int = 0
    """Statements that the group must be kept through, as a mask."""
    size: int = 0
    """Machine registers from the first to the last."""


def _tie(by_key: dict[str, _Group], vector: Sequence[Register]) -> bool:
    """Make a vector's registers consecutive; False, and nothing done, if they cannot be.

    `by_key` are the groups made so far, by the keys of their registers.
    """
    sizes = {register.key: register.type.bits // 32 for register in vector}
    if len(sizes) < len(vector):
        return False
    offsets = dict(zip(sizes, accumulate(sizes.values(), initial=0), strict=False))
    shifts: dict[int, int] = {}
    for key, offset in list(offsets.items()):
        group = by_key.get(key)
        if group is None:
            continue
        shift = offset - group.offsets[key]
        if shifts.setdefault(id(group), shift) != shift:
            return False
        offsets.update({other: place + shift for other, place in group.offsets.items()})
        sizes.update(group.sizes)
    taken = {offset + word for key, offset in offsets.items() for word in range(sizes[key])}
    if len(taken) != sum(sizes.values()):
        return False
    least = min(taken)
    offsets = {key: offset - least for key, offset in offsets.items()}
    by_key.update(dict.fromkeys(offsets, _Group(offsets, sizes, size=max(taken) - least + 1)))
    return True


def _place(groups: Iterable[_Group]) -> tuple[dict[int, int], int]:
    """Lowest fit, one group after the other; first registers by the group's id, and how many are used."""
    first: dict[int, int] = {}
    placed: list[tuple[int, _Group]] = []
    used = 0
    for group in groups:
        blocked = sorted((start, start + other.size) for start, other in placed if other.live & group.live)
        position = 0
        for start, end in blocked:
            if position + group.size <= start:
                break
            position = max(position, end)
        first[id(group)] = position
        placed.append((position, group))
        used = max(used, position + group.size)
    return first, used


def _kept_through(
    blocks: Sequence[Block], slots: int, matrix: Mapping[int, WarpStatement]
) -> tuple[dict[int, int], dict[int, int]]:
    """The statements that each register must be kept through, and the place of each among them.

    A register is kept through a statement that reads or writes it, and through every statement between a
    write and a read that may follow. Of each register among `slots`, a mask with bit i for the statement at
    place i; of each matrix statement, by its number, its place.
    """
    kept: dict[int, int] = {}
    places: dict[int, int] = {}
    first = 0
    for block, behind in zip(blocks, live_registers(blocks, removing=False)[1], strict=True):
        place, live = first + len(block.steps), behind
        for step, before in walk(block, behind, removing=False):
            held = live | before | mask(() if step is None else step.writes)
            for slot in members(held & slots):
                kept[slot] = kept.get(slot, 0) | 1 << place
            if step is not None and step.index in matrix and step.instruction is matrix[step.index].statement:
                places[step.index] = place
            place, live = place - 1, before
        first += len(block.steps) + 1
    return kept, places


def allocate(
    blocks: Sequence[Block],
    slots: Mapping[str, int],
    matrix: Mapping[int, WarpStatement],
    fragments: Mapping[str, Register],
) -> Allocation:
    """Place all registers that hold parts of fragments.

    The `blocks` of an entry say how long each register is wanted. `slots` are the numbers of the registers,
    by key; `matrix` the matrix statements by number; `fragments` the registers to place, by key: at least all
    that stand in a vector.
    """
    by_key: dict[str, _Group] = {}
    vectors = {
        (index, use): registers for index, item in matrix.items() for use, registers in item.fragments.items()
    }
    copied = frozenset(place for place, registers in vectors.items() if not _tie(by_key, registers))
    for key, register in fragments.items():
        if key not in by_key:
            _tie(by_key, [register])
    kept, places = _kept_through(blocks, mask([slots[key] for key in fragments]), matrix)
    for key, group in by_key.items():
        group.live |= kept.get(slots[key], 0)
    windows = {
        (index, use): _Group(
            live=1 << places[index], size=sum(item.type.bits // 32 for item in vectors[index, use])
        )
        for index, use in sorted(copied)
    }
    distinct = list({id(group): group for group in (*by_key.values(), *windows.values())}.values())
    in_order = _place(sorted(distinct, key=lambda group: group.live & -group.live))
    largest_first = _place(sorted(distinct, key=lambda group: -group.size))
    first, used = min(in_order, largest_first, key=lambda placement: placement[1])
    position = {key: first[id(group)] + group.offsets[key] for key, group in by_key.items()}
    return Allocation(
        position=position,
        window={
            place: first[id(windows[place])] if place in copied else position[registers[0].key]
            for place, registers in vectors.items()
        },
        registers=used,
    )


def allocate_raw(
    source: Source, matrix: Mapping[int, WarpStatement], fragments: Mapping[str, Register]
) -> Allocation:
    """Give each of the `fragments` the place that its name says."""
    position = {}
    window = {}
    for key, register in fragments.items():
        digits = register.name[len(register.name.rstrip("0123456789")) :]
        if not digits:
            rule = f"in an entry with {RAW_REGISTERS} it says which register it is"
            raise source.error(register.location, f"{register.name} has no number; {rule}")
        position[key] = int(digits)
    for index, item in matrix.items():
        for use, registers in item.fragments.items():
            numbers = [position[register.key] for register in registers]
            for register, before, number in zip(registers[1:], numbers, numbers[1:], strict=False):
                if number != before + 1:
                    rule = f"in an entry with {RAW_REGISTERS} a vector names registers one after the other"
                    message = f"{register.name} follows register {before}; {rule}"
                    raise source.error(register.location, message)
            window[index, use] = numbers[0]
    return Allocation(position, window, registers=1 + max(position.values(), default=-1))
