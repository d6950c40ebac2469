"""How the hardware's skewed banks transpose a fragment, as JSON: simulated from `hdl.memory.bank_mapping`."""

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator, TickTrigger

from golden.tables.instruction_set import Layout, Shape, Use
from golden.tables.layouts import fragment
from hdl.config import PRESETS, CoreConfig
from hdl.memory.bank_mapping import ADDRESS_BITS, BankMapping, WordPlace
from hdl.memory.fragment_geometry import SEGMENT_BYTES, BlockOrder, Pattern, fragment_geometry

_QUADS = 8
_LATENCY = 2
"""Cycles from a word's number to its addresses, as `BankMapping.word_place` has it."""


class _Example(NamedTuple):
    use: Use
    type: str
    shape: Shape
    layout: Layout


EXAMPLES = (
    _Example("a", "f16", Shape(16, 16, 16), "col"),
    _Example("a", "f16", Shape(16, 16, 16), "row"),
    _Example("a", "s8", Shape(16, 16, 16), "col"),
    _Example("a", "tf32", Shape(16, 16, 8), "col"),
    _Example("c", "f32", Shape(16, 16, 16), "row"),
    _Example("c", "f32", Shape(16, 16, 16), "col"),
)


class _Bench:
    """The mapping with inputs and outputs that a simulation can reach."""

    def __init__(self, config: CoreConfig) -> None:
        self.mapping = BankMapping(config)
        self.module = Module()
        self.pattern = Signal(Pattern)
        self.order = Signal(BlockOrder)
        self.line = Signal(5)
        self.segment = Signal(3)
        self.word = Signal(ADDRESS_BITS)
        self.skew = Signal(4)
        self.address = Signal(ADDRESS_BITS)
        skew, address = self.mapping.segment_place(self.module, self.pattern, self.line, self.segment)
        self.module.d.comb += [self.skew.eq(skew), self.address.eq(address)]
        self.place: WordPlace = self.mapping.word_place(self.module, self.pattern, self.order, self.word)


def transposition_tables() -> list[dict[str, Any]]:
    """Every example: which bank each byte goes to, and from which bank each byte of a word comes.

    Returns
    -------
    list of dict
        ``segments``: line, segment and skew of each 16 bytes of memory in the order of loading; byte e goes
        to bank ``e ^ skew``. ``words``: register, quad, skew, and whether lanes 1 and 2 are exchanged; byte q
        comes from bank ``q ^ skew``, and ``places`` names the line and segment that it is of.
    """
    bench = _Bench(PRESETS["standard"])
    simulator = Simulator(bench.module)
    simulator.add_clock(1e-6)
    tables: list[dict[str, Any]] = []

    async def stimulus(context: Any) -> None:
        for example in EXAMPLES:
            tables.append(await _example(context, bench, example))

    simulator.add_testbench(stimulus)
    simulator.run()
    return tables


async def _example(context: Any, bench: _Bench, example: _Example) -> dict[str, Any]:
    geometry: dict[str, Any] = fragment_geometry(*example)
    context.set(bench.pattern, geometry["pattern"])
    context.set(bench.order, geometry["order"])
    segments: list[dict[str, int]] = []
    at: dict[int, tuple[int, int]] = {}
    for line, segment in _segments(geometry):
        context.set(bench.line, line)
        context.set(bench.segment, segment)
        segments.append({"line": line, "segment": segment, "skew": context.get(bench.skew)})
        at[context.get(bench.address)] = line, segment
    words = [await _word(context, bench, number, at) for number in range(len(segments))]
    rows, columns = example.shape.extent(example.use)
    return {
        "use": example.use,
        "type": example.type,
        "shape": str(example.shape),
        "layout": example.layout,
        "rows": rows,
        "columns": columns,
        "bits": fragment(*example[:3]).element_bits,
        "pattern": geometry["pattern"].name,
        "lineBytes": 1 << geometry["line_log2"],
        "segments": segments,
        "words": words,
    }


async def _word(context: Any, bench: _Bench, number: int, at: dict[int, tuple[int, int]]) -> dict[str, Any]:
    context.set(bench.word, number)
    await cast("TickTrigger", context.tick())
    for _ in range(_LATENCY - 1):
        await cast("TickTrigger", context.tick())
    skew = context.get(bench.place.skew)
    banks = [at[context.get(address)] for address in bench.place.addresses]
    step = bench.mapping.bank_bytes
    return {
        "register": number // _QUADS,
        "quad": number % _QUADS,
        "skew": skew,
        "swap": context.get(bench.place.swap),
        "places": [banks[(byte ^ skew) // step] for byte in range(SEGMENT_BYTES)],
    }


def _segments(geometry: dict[str, Any]) -> Iterator[tuple[int, int]]:
    """Lines in order, and in each its segments."""
    for line in range(1 << geometry["lines_log2"]):
        for segment in range((1 << geometry["line_log2"]) // SEGMENT_BYTES):
            yield line, segment
