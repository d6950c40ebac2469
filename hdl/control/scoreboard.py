"""The scoreboard: which registers and bytes the commands under way still need."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, ValueLike, unsigned
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import CoreConfig

__all__ = ["SLOTS", "TAG_BITS", "Footprint", "Range", "Scoreboard", "Unit", "span_layout"]

TAG_BITS = 5
"""Bits of a command's number that tell the commands under way apart."""


class Unit(enum.Enum, shape=3):
    """The units that work side by side."""

    LOAD = 0
    STORE = 1
    TILE = 2
    F64 = 3
    MOVE = 4


SLOTS: Final = MappingProxyType({Unit.LOAD: 4, Unit.STORE: 3, Unit.TILE: 4, Unit.F64: 2, Unit.MOVE: 1})
"""Commands that may be under way in each unit: as many as it needs to work without a gap."""

_READS: Final = MappingProxyType({Unit.LOAD: 0, Unit.STORE: 1, Unit.TILE: 3, Unit.F64: 3, Unit.MOVE: 1})
_WRITERS: Final = frozenset({Unit.LOAD, Unit.TILE, Unit.F64, Unit.MOVE})
_IN_MEMORY: Final = frozenset({Unit.LOAD, Unit.STORE})


class Range(data.Struct):
    """Registers `first` to `last`; nothing unless `valid`."""

    valid: unsigned(1)
    first: unsigned(8)
    last: unsigned(8)


class Footprint(data.Struct):
    """The registers that a command reads and writes.

    Members
    -------
    reads : ArrayLayout(Range, 3)
        Those of a unit with fewer operands come first.
    write : Range
    """

    reads: data.ArrayLayout(Range, 3)
    write: Range


def span_layout(config: CoreConfig) -> data.StructLayout:
    """The bytes from `first` to `last`, both included, in generic addresses."""
    return data.StructLayout(
        {"first": unsigned(config.address_bits + 1), "last": unsigned(config.address_bits + 1)}
    )


@dataclass(frozen=True)
class _Slot:
    """What is kept of one command under way."""

    reading: Signal
    writing: Signal
    footprint: Signal
    span: Signal
    tag: Signal


class Scoreboard(wiring.Component):
    """Keeps the footprint of every command under way, and says what a new one must wait for.

    Each unit works on its commands in order, so its slots are a ring: the oldest command whose registers are
    still to be read is the next one that `fetched` speaks of, the oldest one not finished the next of `done`.

    A register that a command reads must not be about to be written; one that it writes must not be about to
    be read or written, except by older commands of the same unit, which come first anyway. Bytes likewise: a
    load waits for stores, a store for loads, that may touch the same bytes. The new command's operands are
    asked for one at a time, so there is one set of comparators; an answer of no conflict remains true, for
    nothing is started in between.

    Latency: none from `operand` to `conflict`. Expected critical path: an 8-bit comparison and the sum of
    all conflicts.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    unit : In(Unit)
        Of the new command.
    footprint : In(Footprint), span : In(span_layout(config)), tag : In(5)
        Of the new command; the span counts in loads and stores only.
    operand : In(Range), is_write : In(1)
        The operand asked about.
    conflict : Out(1)
        It must wait.
    span_conflict : Out(1)
        The new command, a load or store, must wait for the bytes of `span`.
    full : Out(1)
        The unit has no free slot.
    allocate : In(1)
        The new command starts.
    fetched, done : In(5)
        A bit for each `Unit`.
    idle : Out(1)
        Nothing is under way.
    load_tag, store_tag : Out(5)
        Of the oldest load and store under way: with its `done`, the one that has finished.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        self._units = [unit for unit in Unit if unit is not Unit.F64 or config.f64_units]
        super().__init__(
            {
                "unit": In(Unit),
                "footprint": In(Footprint),
                "span": In(span_layout(config)),
                "tag": In(TAG_BITS),
                "operand": In(Range),
                "is_write": In(1),
                "conflict": Out(1),
                "span_conflict": Out(1),
                "full": Out(1),
                "allocate": In(1),
                "fetched": In(len(Unit)),
                "done": In(len(Unit)),
                "idle": Out(1),
                "load_tag": Out(TAG_BITS),
                "store_tag": Out(TAG_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        slots = {unit: self._ring(m, unit) for unit in self._units}
        conflicts = []
        for unit, ring in slots.items():
            other = self.unit != unit
            for slot in ring:
                if unit in _WRITERS:
                    concerned = slot.writing & (~self.is_write | other)
                    conflicts.append(concerned & _overlap(self.operand, slot.footprint.write))
                for index in range(_READS[unit]):
                    concerned = slot.reading & self.is_write & other
                    conflicts.append(concerned & _overlap(self.operand, slot.footprint.reads[index]))
        m.d.comb += [
            self.conflict.eq(self.operand.valid & Cat(*conflicts).any()),
            self.span_conflict.eq(
                Mux(
                    self.unit == Unit.LOAD,
                    self._touches(slots[Unit.STORE]),
                    (self.unit == Unit.STORE) & self._touches(slots[Unit.LOAD]),
                )
            ),
            self.idle.eq(~Cat(slot.writing for ring in slots.values() for slot in ring).any()),
        ]
        return m

    def _touches(self, ring: list[_Slot]) -> Value:
        return Cat(
            slot.writing & (slot.span.first <= self.span.last) & (self.span.first <= slot.span.last)
            for slot in ring
        ).any()

    def _ring(self, m: Module, unit: Unit) -> list[_Slot]:
        """The slots of a unit, and what happens to them; `writing` also says that a slot is taken."""
        name = unit.name.lower()
        capacity = SLOTS[unit]
        ring = [
            _Slot(
                reading=Signal(name=f"{name}_{index}_reading"),
                writing=Signal(name=f"{name}_{index}_writing"),
                footprint=Signal(Footprint, name=f"{name}_{index}_footprint"),
                span=Signal(span_layout(self._config), name=f"{name}_{index}_span"),
                tag=Signal(TAG_BITS, name=f"{name}_{index}_tag"),
            )
            for index in range(capacity)
        ]
        mine = self.unit == unit
        newest, unread, oldest = (
            Signal(range(max(capacity, 2)), name=f"{name}_{what}") for what in ("newest", "unread", "oldest")
        )
        with m.If(mine):
            m.d.comb += self.full.eq(Array(slot.writing for slot in ring)[newest])
        for event, pointer in (
            (self.allocate & mine, newest),
            (self.fetched[unit.value], unread),
            (self.done[unit.value], oldest),
        ):
            with m.If(event):
                m.d.sync += pointer.eq(Mux(pointer == capacity - 1, 0, pointer + 1))
        for index, slot in enumerate(ring):
            with m.If(self.allocate & mine & (newest == index)):
                m.d.sync += [
                    slot.reading.eq(1),
                    slot.writing.eq(1),
                    slot.footprint.eq(self.footprint),
                    slot.tag.eq(self.tag),
                    slot.span.eq(self.span),
                ]
            if _READS[unit]:
                with m.If(self.fetched[unit.value] & (unread == index)):
                    m.d.sync += slot.reading.eq(0)
            with m.If(self.done[unit.value] & (oldest == index)):
                m.d.sync += slot.writing.eq(0)
        if unit in _IN_MEMORY:
            m.d.comb += getattr(self, f"{name}_tag").eq(Array(slot.tag for slot in ring)[oldest])
        return ring


def _overlap(one: ValueLike, other: ValueLike) -> Value:
    one, other = Range(one), Range(other)
    return other.valid & (one.first <= other.last) & (other.first <= one.last)
