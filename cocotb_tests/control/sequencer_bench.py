"""Stubs of the units around the warps, random commands, and the rules that what they start must keep."""

import random
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import cocotb
from amaranth.lib import data
from cocotb.triggers import RisingEdge

from cocotb_tests.control.decoder_model import with_noise
from cocotb_tests.requests import check_geometry, check_tile
from cocotb_tests.streams import StreamSink, StreamSource, pauses, start
from golden.lines import gather_lines
from golden.tables.commands import Command, Fill, Load, Mma, Move, Store
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import ROUNDINGS, SPACES, Shape
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction, multiplies_of
from hdl.command import encode
from hdl.config import CoreConfig, DotProductConfig
from hdl.control.scoreboard import COMMON_UNITS, Unit, slots
from hdl.memory.beats import access_layout
from hdl.multiply.f64.request import F64Request
from hdl.multiply.tile.request import TileRequest
from hdl.registers.mover import MoveRequest
from sim.testbench.parameters import parameters

__all__ = [
    "CONFIG",
    "COUNT_FROM",
    "F64",
    "MULTIPLIES",
    "SLOTS",
    "SQUARE",
    "STALLS",
    "Stubs",
    "bits_of",
    "count_of",
    "of_warp",
    "progress_of",
    "random_command",
    "random_commands",
    "registers",
    "start_with_ready_units",
    "unit_of",
    "until_idle",
    "warps",
]

CONFIG = CoreConfig(
    f64_units=1, registers=256, dot_product=DotProductConfig(formats=frozenset({"f16", "i8", "b1"}))
)
MULTIPLIES = {
    is_f64: [
        instruction
        for family in CONFIG.families
        if ("f64" in family.multiplicands) == is_f64
        for instruction in multiplies_of(family)
    ]
    for is_f64 in (False, True)
}
"""Of the tile multiplier, and of the one of f64."""

SLOTS = slots(CONFIG)
SQUARE = Shape(16, 16, 16)
SHAPES = (SQUARE, Shape(32, 8, 16), Shape(8, 32, 16))
F64 = Shape(8, 8, 4)
REQUESTS = {
    Unit.LOAD: access_layout(CONFIG),
    Unit.STORE: access_layout(CONFIG),
    Unit.TILE: data.Layout.cast(TileRequest),
    Unit.F64: data.Layout.cast(F64Request),
    Unit.MOVE: data.Layout.cast(MoveRequest),
}


STALLS = ("stall_registers", "stall_memory", "stall_unit", "queue_empty")


@dataclass(eq=False)
class Started:
    """A command in flight, and its number among the commands of its warp."""

    unit: Unit
    request: Any
    command: Command
    number: int
    fetched: bool = False


@dataclass
class Model:
    """What a warp was given, and which rules what it starts must keep."""

    warp: int = 0
    given: list[Command] = field(default_factory=list)
    started: int = 0
    under_way: list[Started] = field(default_factory=list)
    failed: list[Started] = field(default_factory=list)
    overlapped: int = 0
    serial: bool = False

    def start(self, unit: Unit, request: Any) -> Started:
        """Check a request against the next command and all that are in flight."""
        command = self.given[self.started]
        check_request(in_file(command, self.warp), unit, request)
        new = Started(unit, request, command, self.started)
        assert not (self.serial and self.under_way), "two commands at once"
        assert sum(other.unit is unit for other in self.under_way) < SLOTS[unit]
        for other in (*self.under_way, *self.failed):
            assert not must_wait(new, other), f"{command} was started during or despite {other.command}"
        self.overlapped += bool(self.under_way)
        self.under_way.append(new)
        self.started += 1
        return new


COUNT_FROM = (1 << 63) - 100
"""`executed` starts with this, so that a carry passes through all its bits."""


class Stubs:
    """The units: each takes requests, reads its registers after a while, and ends after another, in order.

    Parameters
    ----------
    dut : handle
    rng : Random

    Attributes
    ----------
    models : list of Model
        Of each warp.
    causes : list of dict of int to int
        Of each warp, by the numbers of its commands: how they fail.
    pairs : set of tuple of Unit
        The units of two commands of different warps that were in flight together, the older one first.
    """

    def __init__(self, dut: Any, rng: random.Random) -> None:
        self.models = [Model(warp) for warp in range(warps())]
        self.causes: list[dict[int, int]] = [{} for _ in self.models]
        self.pairs: set[tuple[Unit, Unit]] = set()
        self._in_unit: dict[Unit, list[tuple[Model, Started]]] = {unit: [] for unit in COMMON_UNITS}
        self._dut = dut
        self._rng = rng
        self._sinks = {
            unit: StreamSink(dut, unit.name.lower(), pauses(rng, 0.3), steady=True) for unit in COMMON_UNITS
        }
        for name in ("fetched", "done", "load_cause", "store_cause", "store_progress", "clear", "serial"):
            getattr(dut, name).value = 0
        cocotb.start_soon(self._serve())

    async def _serve(self) -> None:
        dut, rng = self._dut, self._rng
        edge = RisingEdge(dut.aclk)
        stalled = [0] * len(STALLS)
        while True:
            await edge
            for unit, layout in REQUESTS.items():
                if getattr(dut, f"{unit.name.lower()}_valid").value:
                    bits = int(getattr(dut, f"{unit.name.lower()}_payload").value)
                    starts = owner(unit, layout.from_bits(bits))
                    assert not any(waits >> starts & 1 for waits in stalled), "it started in the cycle before"
            stalled = [int(getattr(dut, name).value) for name in STALLS]
            for one, other in combinations(stalled, 2):
                assert not one & other, "a cycle of a warp counts once"
            if empty := stalled[-1]:
                for warp in range(len(self.models)):
                    offered = getattr(dut, f"commands_{warp}_valid").value
                    assert not (empty >> warp & 1 and offered), "a command is there"
            for unit, sink in self._sinks.items():
                for bits in sink.received:
                    self._start(unit, REQUESTS[unit].from_bits(bits))
                sink.received.clear()
            fetched = done = 0
            for unit, mine in self._in_unit.items():
                unread = next((started for _, started in mine if not started.fetched), None)
                if unread and rng.random() < 0.2:
                    unread.fetched = True
                    fetched |= 1 << unit.value
                elif mine and mine[0][1].fetched and rng.random() < 0.15:
                    done |= 1 << unit.value
                    model, ended = mine.pop(0)
                    model.under_way.remove(ended)
                    cause = self.causes[model.warp].get(ended.number, 0)
                    model.failed += [ended] * bool(cause)
                    if unit is Unit.LOAD:
                        dut.load_cause.value = cause
                    if unit is Unit.STORE:
                        dut.store_cause.value = cause
                        dut.store_progress.value = progress_of(ended.number) if cause else rng.getrandbits(16)
            dut.fetched.value = fetched
            dut.done.value = done

    def _start(self, unit: Unit, request: Any) -> None:
        """Give a request to the model of its warp, which its registers name."""
        model = self.models[owner(unit, request)]
        started = model.start(unit, request)
        for older_unit, mine in self._in_unit.items():
            if any(other is not model for other, _ in mine):
                self.pairs.add((older_unit, unit))
        self._in_unit[unit].append((model, started))


def owner(unit: Unit, request: Any) -> int:
    """The warp whose registers a request names."""
    match unit:
        case Unit.LOAD | Unit.STORE:
            register = request.register
        case Unit.TILE | Unit.F64:
            register = request.d
        case Unit.MOVE:
            register = request.destination
    return int(register) // CONFIG.registers


_REGISTERS = ("register", "d", "a", "b", "c", "destination", "source")


def in_file(command: Command, warp: int) -> Command:
    """A command with the register file's numbers of its registers; beyond the last register they wrap."""
    size = CONFIG.registers
    named = {name: getattr(command, name) for name in _REGISTERS if hasattr(command, name)}
    return replace(command, **{name: value % size + warp * size for name, value in named.items()})


def progress_of(number: int) -> int:
    """The bursts that memory took of the store of this number, if it fails: all bits of it change."""
    return (number + 1) * 0x6B5D & 0xFFFF


def registers(command: Command) -> tuple[list[set[int]], set[int]]:
    """The registers that a command reads, and those it writes."""
    match command:
        case Load(instruction, register):
            return [], set(range(register, register + instruction.fragment.registers))
        case Store(instruction, register):
            return [set(range(register, register + instruction.fragment.registers))], set()
        case Mma(instruction, d, a, b, c):
            write, *reads = (
                set(range(first, first + layout.registers))
                for first, layout in zip((d, a, b, c), instruction.fragments.values(), strict=True)
            )
            return reads, write
        case Fill(register, count):
            return [], set(range(register, register + count))
        case Move(destination, source, count):
            return [set(range(source, source + count))], set(range(destination, destination + count))


def touched(command: Load | Store) -> tuple[int, int]:
    """The first byte of a load or store, and the one behind its last."""
    lines = gather_lines(command.instruction, command.address, command.stride)
    return lines[0][0], lines[-1][0] + lines[-1][1]


def must_wait(new: Started, older: Started) -> bool:
    """Whether the older command still needs what the new one needs."""
    reads, writes = registers(new.command)
    older_reads, older_writes = registers(older.command)
    if any(read & older_writes for read in reads):
        return True
    if new.unit is not older.unit and (
        writes & older_writes or (not older.fetched and any(writes & read for read in older_reads))
    ):
        return True
    if {new.unit, older.unit} == {Unit.LOAD, Unit.STORE}:
        first, end = touched(new.command)
        older_first, older_end = touched(older.command)
        return first < older_end and older_first < end
    return False


def random_command(rng: random.Random, base: int = 0, window: int = 0) -> Command:
    """Commands of all units, near to one another: registers from `base` on, bytes from `window` on."""
    register = base + rng.randrange(0, 50)
    address = window + 1024 * rng.randrange(12) + 32 * rng.randrange(3)
    layout = rng.choice(["row", "col"])
    kind = rng.randrange(6)
    if kind == 0:
        use = rng.choice("abc")
        name = rng.choice(["f16", "f64"] if use != "c" else ["f16", "f32", "f64"])
        shape = F64 if name == "f64" else rng.choice(SHAPES)
        space = rng.choice(["global", "generic"])
        load = LoadInstruction(use=use, layout=layout, shape=shape, type=name, space=space)
        return Load(load, register, address, random_stride(rng, load, address))
    if kind == 1:
        shape, name = rng.choice(
            [*((shape, name) for shape in SHAPES for name in ("f16", "f32")), (F64, "f64")]
        )
        store = StoreInstruction(layout=layout, shape=shape, type=name)
        return Store(store, register, address, random_stride(rng, store, address))
    if kind in (2, 3):
        multiply = rng.choice(MULTIPLIES[rng.random() < 0.5])
        return Mma(multiply, register, *(base + rng.randrange(56) for _ in "abc"))
    source = base + rng.randrange(50)
    most = 257 - max(register, source) if rng.random() < 0.1 else 14
    if kind == 4:
        return Fill(register, rng.randrange(most), rng.getrandbits(32))
    return Move(register, source, rng.randrange(most))


def random_stride(
    rng: random.Random, instruction: LoadInstruction | StoreInstruction, address: int
) -> int | None:
    """None, 32, or any other stride with which all lines have addresses."""
    unit = instruction.core_alignment * 8 // FORMATS[instruction.type].bits
    stride = rng.choice([None, 32, unit * rng.getrandbits(rng.randrange(26))])
    start, count = gather_lines(instruction, address, stride)[-1]
    return stride if start + count <= 1 << CONFIG.address_bits else 32


def check_request(command: Command, unit: Unit, request: Any) -> None:
    """The request went to the right unit with the command's operands."""
    match command:
        case Load() | Store():
            lines = gather_lines(command.instruction, command.address, command.stride)
            assert unit is (Unit.STORE if isinstance(command, Store) else Unit.LOAD)
            assert (request.register, request.address) == (command.register, command.address)
            assert request.stride == lines[1][0] - lines[0][0]
            assert request.contiguous == (lines[1][0] == lines[0][0] + lines[0][1])
            assert request.space == SPACES.index(command.instruction.space)
            check_geometry(command.instruction, request.geometry)
        case Mma(instruction, d, a, b, c) if instruction.a_type == "f64":
            assert unit is Unit.F64
            assert (request.a, request.b, request.c, request.d) == (a, b, c, d)
            assert ROUNDINGS[request.tile.rounding] == (instruction.rounding or "rn")
            assert request.tile.two_blocks == (instruction.shape.m == 16)
            assert 4 << request.tile.k_blocks_log2 == instruction.shape.k
        case Mma(instruction, d, a, b, c):
            assert unit is Unit.TILE
            check_tile(instruction, request)
            x, y = (b, a) if request.x_is_b else (a, b)
            assert (request.x, request.y, request.c, request.d) == (x, y, c, d)
        case Fill(register, count, value):
            assert unit is Unit.MOVE
            assert (request.is_move, request.destination, request.count) == (0, register, count)
            assert not request.transposes
            assert request.value == value
        case Move(destination, source, count):
            assert unit is Unit.MOVE
            assert (request.is_move, request.destination, request.source) == (1, destination, source)
            assert (request.count, request.transposes) == (count, 0)


def random_commands(rng: random.Random, count: int) -> list[Command]:
    """Commands near to one another, now and then elsewhere, so that all bits of their operands are used."""
    places = [
        (rng.randrange(0, CONFIG.registers - 71), rng.getrandbits(18) << 14) for _ in range(count // 40 + 1)
    ]
    return [random_command(rng, *places[number // 40]) for number in range(count)]


def warps() -> int:
    """Warps of the design."""
    return int(parameters()["warps"])


def of_warp(port: Any, warp: int, bits: int) -> int:
    """What a port with a field for each warp says of one of them."""
    return int(port.value) >> bits * warp & (1 << bits) - 1


def count_of(dut: Any, warp: int = 0) -> int:
    """Commands that a warp has executed since the first reset."""
    return of_warp(dut.executed, warp, 64) - COUNT_FROM


_NOISE = random.Random(1)


def bits_of(command: Command, warp: int = 0) -> int:
    """The words of a command of a warp as one number, with any values of what has no meaning."""
    words = encode(replace(command, warp=warp))
    return with_noise(sum(word << 32 * index for index, word in enumerate(words)), _NOISE)


def unit_of(command: Command) -> Unit:
    """The unit that executes a command."""
    match command:
        case Load():
            return Unit.LOAD
        case Store():
            return Unit.STORE
        case Mma(instruction):
            return Unit.F64 if instruction.a_type == "f64" else Unit.TILE
        case _:
            return Unit.MOVE


async def start_with_ready_units(dut: Any) -> list[StreamSource]:
    """Start; the units take every request, and what they say of it is the test's to drive.

    Returns the commands of each warp.
    """
    for name in ("fetched", "done", "load_cause", "store_cause", "clear", "serial"):
        getattr(dut, name).value = 0
    for unit in COMMON_UNITS:
        getattr(dut, f"{unit.name.lower()}_ready").value = 1
    await start(dut)
    return [StreamSource(dut, f"commands_{warp}") for warp in range(warps())]


async def until_idle(dut: Any, *sources: StreamSource) -> None:
    """Wait until everything has been taken and has ended."""
    for source in sources:
        await source.sent()
    for _ in range(2000):
        await RisingEdge(dut.aclk)
        if not dut.busy.value:
            return
    raise AssertionError("the warps never came to rest")
