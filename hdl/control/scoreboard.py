"""The scoreboard: which registers and memory the commands in flight still need."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Final

from amaranth.hdl import Array, Cat, Const, Module, Mux, ShapeLike, Signal, Value, ValueLike, unsigned
from amaranth.lib import data, enum
from amaranth.lib.wiring import In, Out

from hdl.component import Component
from hdl.config import CoreConfig


class Unit(enum.Enum, shape=3):
    """The units that work side by side."""

    LOAD = 0
    STORE = 1
    TILE = 2
    F64 = 3
    MOVE = 4
    WGMMA = 5


COMMON_UNITS: Final[tuple[Unit, ...]] = tuple(unit for unit in Unit if unit is not Unit.WGMMA)
"""Of every core."""


def unit_count(config: CoreConfig) -> int:
    """Units that a sequencer knows."""
    return len(Unit) if config.wgmma else len(COMMON_UNITS)


_READS: Final = MappingProxyType(
    {Unit.LOAD: 0, Unit.STORE: 1, Unit.TILE: 3, Unit.F64: 3, Unit.MOVE: 1, Unit.WGMMA: 3}
)
_WRITERS: Final = frozenset({Unit.LOAD, Unit.TILE, Unit.F64, Unit.MOVE, Unit.WGMMA})
_IN_MEMORY: Final = frozenset({Unit.LOAD, Unit.STORE})


BLOCK_BITS: Final = 6
"""Of an address in a block: of 64 bytes, in which loads are told from stores. Tiles that lie closer together
have rows in common anyway."""

_TILE_CYCLES: Final = 22
"""From a tile's slot to its registers, beside the depth of the units."""

_SIDE_CYCLES: Final = 100
"""More with side operands: to read these, and twice as many words of B if A is sparse."""


def slots(config: CoreConfig) -> dict[Unit, int]:
    """Commands that may be in flight in each unit: as many as it needs to work without a gap.

    The shortest tiles of one pass with f32 results have 128 of them.
    """
    issue_cycles = max(128 // config.dot_product_units, 2)
    cycles = config.dot_product.depth + _TILE_CYCLES
    if config.has_side_operands:
        cycles += min(_SIDE_CYCLES, 3 * issue_cycles)
    tiles = max(-(-cycles // issue_cycles), 3)
    shares = {Unit.WGMMA: 3} if config.wgmma else {}
    return {Unit.LOAD: 4, Unit.STORE: 3, Unit.TILE: tiles, Unit.F64: 2, Unit.MOVE: 1, **shares}


def tag_bits(config: CoreConfig) -> int:
    """Bits of a command's number that tell the commands in flight apart, and which of two is older."""
    return (2 * sum(slots(config).values())).bit_length()


class Range(data.Struct):
    """Registers `first` to `last`; nothing unless `valid`."""

    valid: unsigned(1)
    first: unsigned(8)
    last: unsigned(8)


class Footprint(data.Struct):
    """The registers that a command reads and writes."""

    reads: data.ArrayLayout(Range, 3)
    """Those of a unit with fewer operands come first."""
    write: Range


COMPARED: Final = data.ArrayLayout(Range, 2)
"""The registers of two operands."""


def span_layout(config: CoreConfig) -> data.StructLayout:
    """From block `first` to block `last` of the memory, both included, in generic addresses."""
    bits = config.address_bits + 1 - BLOCK_BITS
    return data.StructLayout({"first": unsigned(bits), "last": unsigned(bits)})


@dataclass(frozen=True)
class _Slot:
    """What is kept of one command in flight.

    `until_done` and `until_fetched` say that the command allocated last needs registers that this one is
    still to write or read, `until_ended` that both touch the same block.
    """

    reading: Signal
    writing: Signal
    footprint: Signal
    span: Signal
    tag: Signal
    until_done: Signal
    until_fetched: Signal
    until_ended: Signal


class Scoreboard(Component):
    """Keeps the footprint of every command in flight, and what the command allocated last must wait for.

    Each unit works on its commands in order, so its slots are a ring: the oldest command whose registers are
    still to be read is the next one that `fetched` speaks of, the oldest one not finished the next of `done`.

    A register that a command reads must not be about to be written; one that it writes must not be about to
    be read or written, except by older commands of the same unit, which come first anyway. Memory likewise: a
    load waits for stores, a store for loads, that may touch the same blocks of 64 bytes.

    A command is compared once with those in flight, in two cycles. Registers that these are to write are
    compared with two of its sources in the first cycle, and with the third one and its destination in the
    second. Registers that these are to read are compared with its destination in the first cycle; a register
    keeps the outcome for the second. Each slot keeps a bit of the whole outcome until its command has read or
    written, so no comparison is between a slot and the start of a command. No other command may be allocated
    between its two cycles.

    Throughput: a command each 2 cycles. Latency: 1 cycle from `allocate` to `conflict`. Expected critical
    path: an 8-bit comparison, or the sum of all conflicts.

    Members
    -------
    unit : In(Unit)
        Of the new command.
    footprint : In(Footprint), span : In(span_layout(config)), tag : In(tag_bits(config))
        Of the new command; the span counts in loads and stores only.
    second : In(1)
        The second cycle; it may be repeated until `allocate`.
    compared : In(COMPARED)
        The first and second source of the new command; its third one and destination in the second cycle.
    allocate : In(1)
        The new command takes a slot, in a second cycle; only while its unit is not `full`.
    full : Out(1)
        The unit of the new command has no free slot.
    conflict : Out(1)
        The command allocated last must wait for registers.
    span_conflict : Out(1)
        The command allocated last must wait for blocks of memory.
    fetched, done : In(unit_count(config))
        A bit for each `Unit`.
    narrow : In(1)
        Of the new command: its accumulators are f16. Only where there is `wgmma`.
    clear : In(1)
        All slots become free; to be given in the cycle after a reset, which leaves them as they are.
    load_tag, store_tag : Out(tag_bits(config))
        Of the oldest load and store in flight: with its `done`, the one that has finished.
    again : In(1)
        If multiplies may have side operands: this first cycle follows another one, and compares more sources.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        absent = {Unit.F64: not config.f64_units, Unit.WGMMA: not config.wgmma}
        self._units = [unit for unit in Unit if not absent.get(unit)]
        members = {
            "unit": In(Unit),
            "footprint": In(Footprint),
            "compared": In(COMPARED),
            "span": In(span_layout(config)),
            "tag": In(tag_bits(config)),
            "second": In(1),
            "allocate": In(1),
            "full": Out(1),
            "conflict": Out(1),
            "span_conflict": Out(1),
            "fetched": In(unit_count(config)),
            "done": In(unit_count(config)),
            "clear": In(1),
            "load_tag": Out(tag_bits(config)),
            "store_tag": Out(tag_bits(config)),
            **({"again": In(1)} if config.has_side_operands else {}),
        }
        if config.wgmma:
            members["narrow"] = In(1)
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        rings = {unit: self._ring(unit) for unit in self._units}
        read, other = self.compared
        registers, spans = [], []
        for unit, ring in rings.items():
            foreign = self.unit != unit
            for index, slot in enumerate(ring):
                if unit in _WRITERS:
                    before = Signal(name=f"{unit.name.lower()}_{index}_before")
                    of_read, of_other = self._overlaps((read, other), [slot.footprint.write] * 2)
                    if unit is Unit.WGMMA:
                        of_read = of_read & ~self._adds_to(m, slot, f"share_{index}")
                    found = slot.writing & (of_read | (of_other & (foreign | ~self.second)))
                    with m.If(~self.second):
                        again = found | (before & self.again) if self._config.has_side_operands else found
                        m.d.sync += before.eq(again)
                    with m.If(self.allocate):
                        m.d.sync += slot.until_done.eq(found | (before & slot.writing))
                    registers.append(slot.until_done)
                if _READS[unit]:
                    sources = [slot.footprint.reads[each] for each in range(_READS[unit])]
                    found = self._overlaps([self.footprint.write] * len(sources), sources)
                    met = Signal(name=f"{unit.name.lower()}_{index}_met")
                    m.d.sync += met.eq(Cat(found).any())
                    with m.If(self.allocate):
                        m.d.sync += slot.until_fetched.eq(slot.reading & foreign & met)
                    registers.append(slot.until_fetched)
                if unit in _IN_MEMORY:
                    opposite = Unit.STORE if unit is Unit.LOAD else Unit.LOAD
                    meets = (slot.span.first <= self.span.last) & (self.span.first <= slot.span.last)
                    meets = slot.writing & (self.unit == opposite) & meets
                    if self._config.wgmma and unit is Unit.STORE:
                        meets |= slot.writing & (self.unit == Unit.WGMMA) & self._on_chip(slot.span)
                    with m.If(self.allocate):
                        m.d.sync += slot.until_ended.eq(meets)
                    spans.append(slot.until_ended)
                if unit is Unit.WGMMA:
                    meets = (self.unit == Unit.STORE) & self._on_chip(self.span)
                    with m.If(self.allocate):
                        m.d.sync += slot.until_ended.eq(slot.writing & meets)
                    spans.append(slot.until_ended)
        for unit, ring in rings.items():
            self._advance(m, unit, ring)
        m.d.comb += [self.conflict.eq(Cat(registers).any()), self.span_conflict.eq(Cat(spans).any())]

    def _overlaps(self, ones: Sequence[ValueLike], others: Sequence[ValueLike]) -> list[Value]:
        """A bit for each pair of ranges: whether it has registers in common.

        All comparisons share a carry chain, with two more cells for its ends. A field is `last` minus
        `first`, with a one above that a borrow clears if `first` is greater.
        """
        bits = (self._config.registers - 1).bit_length()
        pairs = [(Range(one), Range(other)) for one, other in zip(ones, others, strict=True)]
        highs = Cat(Cat(x.last[:bits], 1) for pair in pairs for x in pair)
        lows = Cat(Cat(x.first[:bits], 0) for pair in pairs for x in reversed(pair))
        fits = (highs - lows)[bits :: bits + 1]
        return [
            one.valid & other.valid & fits[2 * number] & fits[2 * number + 1]
            for number, (one, other) in enumerate(pairs)
        ]

    def _adds_to(self, m: Module, slot: _Slot, name: str) -> Value:
        """Whether the new command is a share that adds to what the share of a slot makes, tile by tile.

        The tiles of both come in the same order, and the warpgroup multiplier keeps them apart.
        """
        narrow = Signal(name=f"{name}_narrow", reset_less=True)
        with m.If(~slot.writing):
            m.d.sync += narrow.eq(self.narrow)
        held, given = slot.footprint.write, self.footprint.write
        same = (held.first == given.first) & (held.last == given.last) & (narrow == self.narrow)
        return same & (self.unit == Unit.WGMMA) & self.second

    def _on_chip(self, span: data.View) -> Value:
        """Whether a span has a block of the on-chip memory."""
        config = self._config
        first, last = config.shared_base, config.shared_base + config.shared_bytes - 1
        # Verilator warns of a comparison with the least number.
        begun = span.last >= first >> BLOCK_BITS if first else Const(1)
        return (span.first <= last >> BLOCK_BITS) & begun

    def _ring(self, unit: Unit) -> list[_Slot]:
        """The slots of a unit."""
        name = unit.name.lower()
        shapes: dict[str, ShapeLike] = {
            "footprint": Footprint,
            "span": span_layout(self._config),
            "tag": tag_bits(self._config),
        }
        return [
            _Slot(
                **{
                    field.name: Signal(
                        shapes.get(field.name, 1),
                        name=f"{name}_{index}_{field.name}",
                        reset_less=True,
                    )
                    for field in fields(_Slot)
                }
            )
            for index in range(slots(self._config)[unit])
        ]

    def _advance(self, m: Module, unit: Unit, ring: list[_Slot]) -> None:
        """What happens to the slots of a unit, of which `writing` also says that they are taken."""
        name, capacity = unit.name.lower(), len(ring)
        mine = self.unit == unit
        newest, unread, oldest = (
            Signal(range(max(capacity, 2)), name=f"{name}_{what}", reset_less=True)
            for what in ("newest", "unread", "oldest")
        )
        with m.If(mine):
            m.d.comb += self.full.eq(Array(slot.writing for slot in ring)[newest])
        for event, pointer in (
            (self.allocate & mine, newest),
            (self.fetched[unit.value], unread),
            (self.done[unit.value], oldest),
        ):
            with m.If(event & (capacity > 1)):
                m.d.sync += pointer.eq(Mux(pointer == capacity - 1, 0, pointer + 1))
        for index, slot in enumerate(ring):
            with m.If(self.allocate & mine & (newest == index)):
                m.d.sync += [slot.reading.eq(1), slot.writing.eq(1)]
            # A free slot follows what is offered, so no long wire enables all these bits.
            with m.If(~slot.writing):
                m.d.sync += [
                    slot.footprint.eq(self.footprint),
                    slot.tag.eq(self.tag),
                    slot.span.eq(self.span),
                ]
            if _READS[unit]:
                with m.If(self.fetched[unit.value] & (unread == index)):
                    m.d.sync += [slot.reading.eq(0), slot.until_fetched.eq(0)]
            with m.If(self.done[unit.value] & (oldest == index)):
                m.d.sync += [slot.writing.eq(0), slot.until_done.eq(0), slot.until_ended.eq(0)]
        with m.If(self.clear):
            m.d.sync += [newest.eq(0), unread.eq(0), oldest.eq(0)]
            m.d.sync += [
                bit.eq(0)
                for slot in ring
                for bit in (
                    *(slot.reading, slot.writing),
                    *(slot.until_done, slot.until_fetched, slot.until_ended),
                )
            ]
        if unit in _IN_MEMORY:
            m.d.comb += getattr(self, f"{name}_tag").eq(Array(slot.tag for slot in ring)[oldest])
