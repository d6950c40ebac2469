"""The tile multiplier, with golden arithmetic for dot-product units, against whole multiplies by golden."""

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import cocotb
import numpy as np
import pytest
from amaranth.utils import ceil_log2
from cocotb.triggers import RisingEdge
from numpy.typing import NDArray

from cocotb_tests.configurations import ALL_FORMATS
from cocotb_tests.conftest import Simulate
from cocotb_tests.dot_product.operands import Batch, Mode
from cocotb_tests.register_ports import RegisterPorts
from cocotb_tests.runner import parameters
from cocotb_tests.streams import StreamSource, never, pauses, reset, start
from cocotb_tests.unit import unit_design
from golden.formats import FORMATS, FloatFormat
from golden.fragments import collect, distribute
from golden.instruction_set import FAMILIES, MmaInstruction, Shape
from golden.layouts import FragmentLayout, fragment
from golden.mma import mma
from golden.profiles import HOPPER
from hdl.config import QUADS, CoreConfig
from hdl.dot_product.interface import Multiplicand, Operation, Result
from hdl.dot_product.unit import DotProductUnit
from hdl.memory.geometry import block_order
from hdl.multiply.tile.multiplier import TileMultiplier
from hdl.multiply.tile.request import TileRequest, TileShape

LONGEST = 10_000
"""Cycles for a tile, whoever is in its way."""
PLACES = 1 << ceil_log2(DotProductUnit.latency + 1)


def config_of(units: int) -> CoreConfig:
    return CoreConfig(dot_product=ALL_FORMATS.dot_product, dot_product_units=units, registers=256)


def instructions() -> list[MmaInstruction]:
    """Every multiply but f64; layouts do not matter here."""
    found = []
    for family in FAMILIES:
        for shape in family.shapes if family.name != "f64" else ():
            found += [
                MmaInstruction(
                    mnemonic=family.mnemonic,
                    shape=shape,
                    a_layout="row",
                    b_layout="col",
                    a_type=a_type,
                    b_type=b_type,
                    c_type=c_type,
                    d_type=d_type,
                    saturate=saturate,
                    operation=operation,
                )
                for a_type in family.multiplicands
                for b_type in (family.multiplicands if family.mixed else (a_type,))
                for c_type in family.accumulators
                for d_type in family.accumulators
                for saturate in ((False,) if family.saturate == "never" else (False, True))
                for operation in family.operations or (None,)
            ]
    return found


def f16_multiply(c_type: str, d_type: str) -> MmaInstruction:
    return next(
        item
        for item in instructions()
        if (item.shape, item.a_type, item.c_type, item.d_type, item.saturate)
        == (Shape(16, 16, 16), "f16", c_type, d_type, False)
    )


TF32 = next(item for item in instructions() if item.a_type == "tf32")


@dataclass
class Tile:
    """One request: an instruction and the first registers of its fragments.

    A request may call its wide multiplicand B instead of A or the other way round, if the signs follow.
    """

    instruction: MmaInstruction
    first: dict[str, int]
    renamed: bool = False
    forms: dict[str, FragmentLayout] = field(init=False)

    def __post_init__(self) -> None:
        item = self.instruction
        types = {"a": item.a_type, "b": item.b_type, "c": item.c_type, "d": item.d_type}
        self.forms = {use: fragment(use, types[use], item.shape) for use in ("a", "b", "c", "d")}

    @property
    def x(self) -> str:
        """The wide multiplicand."""
        return "a" if self.forms["a"].wide else "b"

    @property
    def y(self) -> str:
        """The other one."""
        return "b" if self.forms["a"].wide else "a"

    @property
    def is_chained(self) -> bool:
        """Whether a unit has half of k at a time."""
        return self.instruction.a_type == "tf32"

    def registers(self, use: str) -> range:
        """Where a fragment lies."""
        return range(self.first[use], self.first[use] + self.forms[use].registers)

    def sources(self) -> set[int]:
        """Registers that are read."""
        return {register for use in ("a", "b", "c") for register in self.registers(use)}

    def reads(self, config: CoreConfig) -> int:
        """Register words that have to be read: blocks that repeat others do not count."""
        blocks = sum(len(self.forms[use].blocks()) for use in ("a", "b")) + self.forms["c"].registers
        return blocks * QUADS // config.word_quads

    def writes(self, config: CoreConfig) -> int:
        """Register words that have to be written."""
        return self.forms["d"].registers * QUADS // config.word_quads

    def operations(self) -> int:
        """Dot products."""
        return self.instruction.shape.m * self.instruction.shape.n * (2 if self.is_chained else 1)

    def mode(self) -> Mode:
        """What is asked for."""
        item = self.instruction
        types = (item.b_type, item.a_type) if self.renamed else (item.a_type, item.b_type)
        return Mode(
            a_type=types[0],
            b_type=types[1],
            c_type=item.c_type,
            d_type=item.d_type,
            saturate=item.saturate,
            operation=item.operation,
        )

    def payload(self) -> int:
        """The request."""
        x, y = self.forms[self.x], self.forms[self.y]
        shapes = {(2, 2): TileShape.SQUARE_16, (4, 1): TileShape.WIDE_32, (1, 1): TileShape.SQUARE_8}
        fields = {
            "operation": Operation.from_bits(self.mode().code()),
            "tile_shape": shapes[x.x_blocks, y.x_blocks],
            "halves": x.y_blocks == 2,
            "chained": self.is_chained,
            "x_order": block_order(x),
            "y_order": block_order(y),
            "x_is_b": (self.x == "b") != self.renamed,
            "x": self.first[self.x],
            "y": self.first[self.y],
            "c": self.first["c"],
            "d": self.first["d"],
        }
        return int(TileRequest.const(fields).as_bits())

    def execute(self, values: NDArray[np.uint32]) -> None:
        """What the multiplier is to make of the registers."""
        item = self.instruction
        a, b, c = (
            collect(values[list(self.registers(use))], use, self.forms[use].type, item.shape)
            for use in ("a", "b", "c")
        )
        words = distribute(mma(item, a, b, c), "d", item.d_type, item.shape)
        values[list(self.registers("d"))] = words


class Units:
    """The dot-product units: their latency, their places for results, and golden arithmetic.

    Results are computed when the first of them is due, all that are under way at once.

    Parameters
    ----------
    dut : handle
    units : int
    pause : callable
        Makes a generator of pauses for one port.

    Attributes
    ----------
    operations, busy : int
        Operands accepted, and the sum of what `busy_units` counted.
    span : list of int
        Cycles in which operands were accepted, first and last one.
    """

    def __init__(self, dut: Any, units: int, pause: Any = never) -> None:
        self.operations = 0
        self.busy = 0
        self.span: list[int] = []
        self._dut = dut
        self._count = units
        self._under_way: list[deque[list[Any]]] = [deque() for _ in range(units)]
        self._pause_in: list[Iterator[bool]] = [pause() for _ in range(units)]
        self._pause_out: list[Iterator[bool]] = [pause() for _ in range(units)]
        cocotb.start_soon(self._serve())

    async def _serve(self) -> None:
        dut = self._dut
        edge = RisingEdge(dut.aclk)
        units = range(self._count)
        valid_in = [getattr(dut, f"operands_{unit}_valid") for unit in units]
        payload_in = [getattr(dut, f"operands_{unit}_payload") for unit in units]
        ready_in = [getattr(dut, f"operands_{unit}_ready") for unit in units]
        valid_out = [getattr(dut, f"result_{unit}_valid") for unit in units]
        payload_out = [getattr(dut, f"result_{unit}_payload") for unit in units]
        ready_out = [getattr(dut, f"result_{unit}_ready") for unit in units]
        ready, valid = [False] * self._count, [False] * self._count
        offered: list[int | None] = [None] * self._count
        cycle = 0
        while True:
            for unit in units:
                waiting = self._under_way[unit]
                ready[unit] = len(waiting) < PLACES and not next(self._pause_in[unit])
                ready_in[unit].value = ready[unit]
                due = bool(waiting) and waiting[0][1] <= cycle
                valid[unit] = due and (valid[unit] or not next(self._pause_out[unit]))
                valid_out[unit].value = valid[unit]
                if valid[unit]:
                    if waiting[0][2] is None:
                        self._compute()
                    payload_out[unit].value = waiting[0][2]
            await edge
            if not dut.aresetn.value:
                for unit in units:
                    self._under_way[unit].clear()
                    valid[unit], offered[unit] = False, None
                continue
            cycle += 1
            self.busy += int(dut.busy_units.value)
            accepted = 0
            for unit in units:
                if valid[unit] and ready_out[unit].value:
                    self._under_way[unit].popleft()
                    valid[unit] = False
                if not valid_in[unit].value:
                    assert offered[unit] is None, f"operands {unit}: taken back"
                    continue
                payload = int(payload_in[unit].value)
                assert offered[unit] in (None, payload), f"operands {unit}: changed before they were taken"
                offered[unit] = None if ready[unit] else payload
                if ready[unit]:
                    accepted += 1
                    self._under_way[unit].append([payload, cycle + DotProductUnit.latency - 1, None])
            if accepted:
                self.operations += accepted
                self.span = [*self.span[:1], cycle]

    def _compute(self) -> None:
        by_operation: dict[int, list[list[Any]]] = {}
        for waiting in self._under_way:
            for item in waiting:
                if item[2] is None:
                    by_operation.setdefault(item[0] >> 544, []).append(item)
        for code, items in by_operation.items():
            results = golden_results(code, [item[0] for item in items])
            for item, result in zip(items, results, strict=True):
                item[2] = int(result)


def golden_results(code: int, payloads: list[int]) -> NDArray[np.uint32]:
    """What golden makes of operands that have the same operation."""
    operation = Operation.from_bits(code)
    raw = np.frombuffer(b"".join((item & (1 << 544) - 1).to_bytes(68, "little") for item in payloads), "u1")
    rows = raw.reshape(len(payloads), 68)
    name = Multiplicand(operation.multiplicand).name.lower()
    types = [name, name]
    if name[0] == "i":
        types = ["us"[flag] + name[1:] for flag in (operation.a_signed, operation.b_signed)]
    is_float = isinstance(FORMATS[types[0]], FloatFormat)
    accumulator = "f32" if is_float else "s32"
    mode = Mode(
        a_type=types[0],
        b_type=types[1],
        c_type="f16" if operation.c_is_f16 else accumulator,
        d_type=accumulator if operation.result == Result.F32 else "f16",
        saturate=bool(operation.saturate),
        operation=("and" if operation.bitwise_and else "xor") if name == "b1" else None,
    )
    assert mode.code() == code, f"operation {code:#x} is none"
    c = np.ascontiguousarray(rows[:, 64:]).view("<u4")[:, 0]
    if operation.c_is_f16:
        assert not (c >> 16).any(), "the high half of an f16 C is to be zero"
        c = c.astype(np.uint16)
    products = mode.products(HOPPER)
    a = elements(rows[:, :32], types[0], products)
    b = elements(rows[:, 32:64], types[1], products)
    return Batch(mode=mode, a=a, b=b, c=c if is_float else c.astype(np.int32)).expected()


def elements(rows: NDArray[np.uint8], name: str, count: int) -> NDArray[Any]:
    """The first elements of rows; integers as values."""
    form = FORMATS[name]
    rows = np.ascontiguousarray(rows)
    if isinstance(form, FloatFormat):
        return rows.view(f"<u{form.bits // 8}")[:, :count]
    bits = np.unpackbits(rows, axis=1, bitorder="little")[:, : count * form.bits]
    values = bits.reshape(len(rows), count, form.bits).astype(np.int64) @ (1 << np.arange(form.bits))
    return np.where(values > form.maximum, values - (1 << form.bits), values)


class Bench:
    """The multiplier, its surroundings, and the scoreboard that keeps reads behind writes.

    Parameters
    ----------
    dut : handle
    share : float
        How often each port pauses.
    ports_share : float or None
        The same for the register file, if it differs.
    """

    def __init__(self, dut: Any, share: float = 0, ports_share: float | None = None) -> None:
        self.dut = dut
        self.config = config_of(parameters()["units"])
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.bits = np.random.default_rng(cocotb.RANDOM_SEED)

        def pause(share: float = share) -> Iterator[bool]:
            return pauses(random.Random(self.rng.random()), share) if share else never()

        ports_share = share if ports_share is None else ports_share
        self.registers = RegisterPorts(dut, self.config, pause(ports_share), pause(ports_share))
        self.units = Units(dut, self.config.dot_product_units, pause)
        self.request = StreamSource(dut, "request", pause())
        self.expected = self.registers.values.copy()
        self.to_fetch: deque[Tile] = deque()
        self.to_finish: deque[Tile] = deque()
        self.reads = self.writes = self.operations = 0
        self.read_words = self.written_words = 0
        self.scribble = False
        cocotb.start_soon(self._watch())

    def fill(self) -> None:
        """New values, most of them numbers of any format that are near each other."""
        shape = self.expected.shape
        values = self.bits.integers(0, 1 << 32, shape, dtype=np.uint32)
        near = self.bits.random(shape) < 0.9
        values[near] = values[near] & np.uint32(0x87FF87FF) | np.uint32(0x38003800)
        self.expected[:] = self.registers.values[:] = values

    async def put(self, tile: Tile) -> None:
        """Send a tile as soon as its operands are written."""
        edge = RisingEdge(self.dut.aclk)
        sources = tile.sources()
        while any(sources & set(older.registers("d")) for older in self.to_finish):
            await edge
        self.to_fetch.append(tile)
        self.to_finish.append(tile)
        self.operations += tile.operations()
        tile.execute(self.expected)
        await self.request.send(tile.payload())

    async def finish(self) -> None:
        """Wait for the end, and compare everything."""
        edge = RisingEdge(self.dut.aclk)
        while self.to_finish:
            await edge
        for _ in range(8):
            await edge
        assert not self.to_fetch
        assert (self.read_words, self.written_words) == (self.reads, self.writes)
        assert self.units.busy == self.units.operations == self.operations
        wrong = np.argwhere(self.registers.values != self.expected)
        assert not len(wrong), f"register, lane {wrong[:4].tolist()}"

    def forget(self) -> None:
        """After a reset: nothing is under way."""
        self.request.drop()
        self.to_fetch.clear()
        self.to_finish.clear()
        self.reads = self.writes = self.read_words = self.written_words = 0
        self.units.operations = self.units.busy = self.operations = 0

    async def _watch(self) -> None:
        """Every pulse comes once for each tile, in the cycle after its last word was read or written."""
        dut = self.dut
        edge = RisingEdge(dut.aclk)
        quiet = 0
        while True:
            await edge
            if not dut.aresetn.value:
                quiet = 0
                continue
            quiet = 0 if dut.done.value or not self.to_finish else quiet + 1
            assert quiet < LONGEST, f"no end of {len(self.to_finish)} tiles"
            if dut.fetched.value:
                assert self.to_fetch, "fetched what was not sent"
                tile = self.to_fetch.popleft()
                self.reads += tile.reads(self.config)
                assert self.read_words == self.reads, f"{self.read_words} words read, not {self.reads}"
                if self.scribble:
                    self._scribble(tile)
            if dut.done.value:
                assert self.to_finish, "done what was not sent"
                tile = self.to_finish.popleft()
                self.writes += tile.writes(self.config)
                assert self.written_words == self.writes, f"{self.written_words} written, not {self.writes}"
            assert len(self.to_finish) >= len(self.to_fetch), "done before it was fetched"
            self.read_words += bool(dut.read_enable.value and dut.read_ready.value)
            self.written_words += bool(dut.write_enable.value and dut.write_ready.value)

    def _scribble(self, tile: Tile) -> None:
        """Write registers that nobody needs any more: a younger load would."""
        free = tile.sources()
        for other in self.to_finish:
            free -= set(other.registers("d"))
        for other in self.to_fetch:
            free -= other.sources()
        for register in free:
            values = self.bits.integers(0, 1 << 32, 32, dtype=np.uint32)
            self.expected[register] = self.registers.values[register] = values


def random_tile(rng: random.Random, item: MmaInstruction) -> Tile:
    """Fragments anywhere, overlapping or not; D often is C."""
    tile = Tile(item, dict.fromkeys("abcd", 0), renamed=rng.random() < 0.5)
    for use in "abcd":
        tile.first[use] = rng.randrange(257 - tile.forms[use].registers)
    if rng.random() < 0.5:
        tile.first["d"] = max(0, min(256 - tile.forms["d"].registers, tile.first["c"] + rng.randrange(-7, 8)))
    elif rng.random() < 0.5:
        tile.first["d"] = min(256 - tile.forms["d"].registers, tile.first[rng.choice("abc")])
    return tile


@cocotb.test
async def every_instruction(dut: Any) -> None:
    """All multiplies there are, in random order, several under way at once, no pauses."""
    bench = Bench(dut)
    await start(dut)
    items = instructions()
    bench.rng.shuffle(items)
    for index, item in enumerate(items):
        if index % 8 == 0:
            await bench.finish()
            bench.fill()
        await bench.put(random_tile(bench.rng, item))
    await bench.finish()


@cocotb.test
@cocotb.parametrize(share=[0.1, 0.5])
async def pauses_everywhere(dut: Any, share: float) -> None:
    """Random multiplies; every port pauses, and registers are overwritten as soon as they may be."""
    bench = Bench(dut, share)
    await start(dut)
    bench.scribble = True
    items = instructions()
    for _ in range(4):
        bench.fill()
        for _ in range(6):
            await bench.put(random_tile(bench.rng, bench.rng.choice(items)))
        await bench.finish()


@cocotb.test
async def blocked_ports(dut: Any) -> None:
    """Another user has the register file for long: whatever the stages hold stays as it is."""
    bench = Bench(dut, 0.0, 0.9)
    await start(dut)
    bench.fill()
    for item in [f16_multiply("f32", "f32"), TF32, f16_multiply("f16", "f16"), TF32, *instructions()[-4:]]:
        await bench.put(random_tile(bench.rng, item))
    await bench.finish()


@cocotb.test
async def resets(dut: Any) -> None:
    """Reset in the middle of work leaves nothing behind."""
    bench = Bench(dut, 0.1)
    await start(dut)
    items = instructions()
    edge = RisingEdge(dut.aclk)
    for _ in range(6):
        bench.fill()
        putting = cocotb.start_soon(put_all(bench, [bench.rng.choice([*items, TF32]) for _ in range(4)]))
        for _ in range(bench.rng.randrange(40, 900 // bench.config.word_quads)):
            await edge
        putting.cancel()
        dut.aresetn.value = 0
        bench.request.drop()
        await edge
        bench.forget()
        await reset(dut)
        bench.forget()
        bench.fill()
        await put_all(bench, [bench.rng.choice(items) for _ in range(2)])
        await bench.finish()


async def put_all(bench: Bench, items: list[MmaInstruction]) -> None:
    for item in items:
        await bench.put(random_tile(bench.rng, item))


async def back_to_back(bench: Bench, item: MmaInstruction, count: int) -> float:
    """The share of unit cycles that operands are accepted in, from the first to the last."""
    bench.fill()
    accumulators = 16
    for index in range(count):
        c = 32 + 8 * (index % accumulators)
        await bench.put(Tile(item, {"a": 8 * (index % 2), "b": 16 + 8 * (index % 2), "c": c, "d": c}))
    await bench.finish()
    first, last = bench.units.span
    return bench.units.operations / (last - first + 1) / bench.config.dot_product_units


@cocotb.test
@cocotb.parametrize(item=[f16_multiply("f32", "f32"), f16_multiply("f16", "f16"), TF32])
async def throughput(dut: Any, item: MmaInstruction) -> None:
    """Units up to eight are kept busy from the first operands to the last."""
    bench = Bench(dut)
    await start(dut)
    units = bench.config.dot_product_units
    share = await back_to_back(bench, item, 64 if units >= 4 else 16)
    cocotb.log.info(f"{units} units, {item}: {share:.4f}")
    assert share >= parameters()["shares"][item.a_type], share


@cocotb.test
async def throughput_with_others(dut: Any) -> None:
    """The same while others take a quarter of the register file's cycles."""
    bench = Bench(dut, 0.0, 0.25)
    await start(dut)
    units = bench.config.dot_product_units
    share = await back_to_back(bench, f16_multiply("f32", "f32"), 16)
    cocotb.log.info(f"{units} units, busy register file: {share:.4f}")
    assert share >= parameters()["shares"]["others"], share


SHARES = {
    1: {"f16": 0.99, "tf32": 0.99, "others": 0.95},
    2: {"f16": 0.99, "tf32": 0.99, "others": 0.95},
    4: {"f16": 0.99, "tf32": 0.99, "others": 0.95},
    8: {"f16": 0.99, "tf32": 0.97, "others": 0.9},
    16: {"f16": 0.9, "tf32": 0.6, "others": 0.6},
    32: {"f16": 0.5, "tf32": 0.35, "others": 0.3},
    64: {"f16": 0.25, "tf32": 0.18, "others": 0.15},
}
"""Units, and the least share of their cycles that they are to be busy: more than eight wait for words."""


@pytest.mark.parametrize("units", SHARES)
def test_tile(simulate: Simulate, units: int) -> None:
    simulate(
        unit_design(f"tile-{units}", TileMultiplier(config_of(units))),
        __name__,
        values={"units": units, "shares": SHARES[units]},
    )
