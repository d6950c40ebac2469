"""The sequencer between a queue of commands and stubs of the units, which work side by side."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import cocotb
from amaranth.lib import data
from cocotb.triggers import RisingEdge, with_timeout

from cocotb_tests.conftest import Simulate
from cocotb_tests.requests import check_geometry, check_tile
from cocotb_tests.streams import StreamSink, StreamSource, pauses, start
from golden.lines import gather_lines
from golden.tables.commands import Command, Fill, Load, Mma, Move, Store
from golden.tables.faults import Cause
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import ROUNDINGS, SPACES, Shape
from golden.tables.layouts import fragment
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from hdl.command import COMMAND_BITS, encode
from hdl.config import CoreConfig
from hdl.control.scoreboard import SLOTS, Unit
from hdl.control.sequencer import Sequencer
from hdl.memory.beats import access_layout
from hdl.multiply.f64.request import F64Request
from hdl.multiply.tile.request import TileRequest
from hdl.registers.mover import MoveRequest
from sim.testbench.unit import unit_design

CONFIG = CoreConfig(f64_units=1, registers=256)
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


STALLS = ("stall_registers", "stall_memory", "stall_unit", "stall_empty")


@dataclass(eq=False)
class Started:
    """A command under way, and its number."""

    unit: Unit
    request: Any
    command: Command
    number: int
    fetched: bool = False


@dataclass
class Model:
    """What the sequencer was given, and which rules what it starts must keep."""

    given: list[Command] = field(default_factory=list)
    started: int = 0
    under_way: list[Started] = field(default_factory=list)
    overlapped: int = 0
    serial: bool = False

    def start(self, unit: Unit, request: Any) -> Started:
        """Check a request against the next command and all that are under way."""
        command = self.given[self.started]
        check_request(command, unit, request)
        new = Started(unit, request, command, self.started)
        assert not (self.serial and self.under_way), "two commands at once"
        assert sum(other.unit is unit for other in self.under_way) < SLOTS[unit]
        for other in self.under_way:
            assert not must_wait(new, other), f"{command} was started during {other.command}"
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
    """

    def __init__(self, dut: Any, rng: random.Random) -> None:
        self.model = Model()
        self.causes: dict[int, int] = {}
        self._dut = dut
        self._rng = rng
        self._sinks = {unit: StreamSink(dut, unit.name.lower(), pauses(rng, 0.3)) for unit in Unit}
        for name in ("fetched", "done", "load_cause", "store_cause", "store_progress", "clear", "serial"):
            getattr(dut, name).value = 0
        cocotb.start_soon(self._serve())

    async def _serve(self) -> None:
        dut, model, rng = self._dut, self.model, self._rng
        edge = RisingEdge(dut.aclk)
        while True:
            await edge
            stalls = [name for name in STALLS if getattr(dut, name).value]
            assert len(stalls) <= 1, f"a cycle counts once, not as {stalls}"
            assert not (dut.stall_empty.value and dut.commands_valid.value), "a command is there"
            for unit, sink in self._sinks.items():
                for bits in sink.received:
                    model.start(unit, REQUESTS[unit].from_bits(bits))
                sink.received.clear()
            fetched = done = 0
            for unit in Unit:
                mine = [started for started in model.under_way if started.unit is unit]
                unread = next((started for started in mine if not started.fetched), None)
                if unread and rng.random() < 0.2:
                    unread.fetched = True
                    fetched |= 1 << unit.value
                elif mine and mine[0].fetched and rng.random() < 0.15:
                    done |= 1 << unit.value
                    model.under_way.remove(mine[0])
                    cause = self.causes.get(mine[0].number, 0)
                    if unit is Unit.LOAD:
                        dut.load_cause.value = cause
                    if unit is Unit.STORE:
                        dut.store_cause.value = cause
                        dut.store_progress.value = (
                            progress_of(mine[0].number) if cause else rng.getrandbits(16)
                        )
            dut.fetched.value = fetched
            dut.done.value = done


def progress_of(number: int) -> int:
    """The bursts that memory took of the store of this number, if it fails: all bits of it change."""
    return (number + 1) * 0x6B5D & 0xFFFF


def registers(command: Command) -> tuple[list[set[int]], set[int]]:
    """The registers that a command reads, and those it writes."""

    def of(use: str, name: str, shape: Shape, first: int) -> set[int]:
        return set(range(first, first + fragment(use, name, shape).registers))

    match command:
        case Load(instruction, register):
            return [], of(instruction.use, instruction.type, instruction.shape, register)
        case Store(instruction, register):
            return [of("d", instruction.type, instruction.shape, register)], set()
        case Mma(instruction, d, a, b, c):
            types = instruction.a_type, instruction.b_type, instruction.c_type
            reads = [
                of(use, name, instruction.shape, first)
                for use, name, first in zip("abc", types, (a, b, c), strict=True)
            ]
            return reads, of("d", instruction.d_type, instruction.shape, d)
        case Fill(register, count):
            return [], set(range(register, register + count))
        case Move(destination, source, count):
            return [set(range(source, source + count))], set(range(destination, destination + count))


def touched(command: Load | Store) -> tuple[int, int]:
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
        shape, name, accumulator = rng.choice([(rng.choice(SHAPES), "f16", "f32"), (F64, "f64", "f64")])
        multiply = MmaInstruction(
            shape=shape,
            a_layout="row",
            b_layout="col",
            a_type=name,
            b_type=name,
            c_type=accumulator,
            d_type=accumulator,
            rounding=rng.choice(ROUNDINGS) if name == "f64" else None,
            saturate=name == "f16" and rng.random() < 0.5,
        )
        return Mma(multiply, register, *(base + rng.randrange(56) for _ in "abc"))
    source = base + rng.randrange(50)
    most = 257 - max(register, source) if rng.random() < 0.1 else 14
    if kind == 4:
        return Fill(register, rng.randrange(most), rng.getrandbits(32))
    return Move(register, source, rng.randrange(most))


def random_stride(
    rng: random.Random, instruction: LoadInstruction | StoreInstruction, address: int
) -> int | None:
    """None where that is legal, 32, or any other stride with which all lines have addresses."""
    unit = instruction.fragment.size * 8 // FORMATS[instruction.type].bits
    strides = [32, -(-32 // unit) * unit + unit * rng.getrandbits(rng.randrange(26))]
    if instruction.shape.default_stride(instruction.use, instruction.layout) % unit == 0:
        strides.append(None)
    stride = rng.choice(strides)
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
        case Mma(instruction, d, a, b, c):
            assert unit is Unit.TILE
            check_tile(instruction, request)
            x, y = (b, a) if request.x_is_b else (a, b)
            assert (request.x, request.y, request.c, request.d) == (x, y, c, d)
        case Fill(register, count, value):
            assert unit is Unit.MOVE
            assert (request.is_move, request.destination, request.count) == (0, register, count)
            assert request.value == value
        case Move(destination, source, count):
            assert unit is Unit.MOVE
            assert (request.is_move, request.destination, request.source) == (1, destination, source)
            assert request.count == count


def random_commands(rng: random.Random, count: int) -> list[Command]:
    """Commands near to one another, now and then elsewhere, so that all bits of their operands are used."""
    places = [
        (rng.randrange(0, CONFIG.registers - 63), rng.getrandbits(18) << 14) for _ in range(count // 40 + 1)
    ]
    return [random_command(rng, *places[number // 40]) for number in range(count)]


def count_of(dut: Any) -> int:
    """Commands executed since the first reset."""
    return int(dut.executed.value) - COUNT_FROM


def bits_of(command: Command) -> int:
    return sum(word << 32 * index for index, word in enumerate(encode(command)))


async def start_with_ready_units(dut: Any) -> StreamSource:
    """Start; the units take every request, and what they say of it is the test's to drive."""
    for name in ("fetched", "done", "load_cause", "store_cause", "clear", "serial"):
        getattr(dut, name).value = 0
    for unit in Unit:
        getattr(dut, f"{unit.name.lower()}_ready").value = 1
    await start(dut)
    return StreamSource(dut, "commands")


async def until_idle(dut: Any, source: StreamSource) -> None:
    await with_timeout(source.sent(), 10, "ms")
    for _ in range(2000):
        await RisingEdge(dut.aclk)
        if not dut.busy.value:
            return
    raise AssertionError("the sequencer never came to rest")


@cocotb.test
@cocotb.parametrize(serial=[0, 1])
async def in_order_side_by_side(dut: Any, serial: int) -> None:
    """Commands start in order, none before it may, and many while others are under way unless serial."""
    rng = random.Random(cocotb.RANDOM_SEED)
    stubs = Stubs(dut, rng)
    await start(dut)
    dut.serial.value = serial
    stubs.model.serial = bool(serial)
    source = StreamSource(dut, "commands", pauses(rng, 0.1))
    stubs.model.given = random_commands(rng, 800)
    source.put(*map(bits_of, stubs.model.given))
    await until_idle(dut, source)
    assert stubs.model.started == len(stubs.model.given)
    assert not stubs.model.under_way
    assert count_of(dut) == len(stubs.model.given)
    assert int(dut.cause.value) == 0
    assert serial or stubs.model.overlapped > 200, stubs.model.overlapped


def refused_command(rng: random.Random) -> tuple[int, Cause]:
    """A command that is refused whatever the memories say, and why."""
    load = LoadInstruction(use="c", layout="row", shape=SQUARE, type="f32", space="global")
    far, stride = rng.getrandbits(32) << 32, rng.getrandbits(32)
    return rng.choice(
        [
            (7 | rng.getrandbits(COMMAND_BITS) & ~7, Cause.ILLEGAL_INSTRUCTION),
            (bits_of(Fill(252, 5, 1)), Cause.REGISTER_RANGE),
            (bits_of(Load(load, 0, far | 4)), Cause.MISALIGNED_ADDRESS),
            (bits_of(Load(load, 0, far, 15)), Cause.SHORT_STRIDE),
            (bits_of(Load(load, 0, far, stride | 17)), Cause.MISALIGNED_STRIDE),
            (bits_of(Load(load, 0, far | (1 << 32) - 32)), Cause.ADDRESS_RANGE),
            (bits_of(Load(load, 0, 0, 16 << rng.randrange(23, 28))), Cause.ADDRESS_RANGE),
        ]
    )


def failing_runs(
    rng: random.Random,
) -> Iterator[tuple[list[Command | int], dict[int, int], Cause | None]]:
    """Commands of which one or two fail.

    With the causes that the memories report by the command's place, and that of the one that is refused.
    """
    for _ in range(150):
        commands: list[Command | int] = [random_command(rng) for _ in range(rng.randrange(12))]
        causes = {}
        refusal = None
        accesses = [place for place, command in enumerate(commands) if isinstance(command, Load | Store)]
        for place in rng.sample(accesses, min(len(accesses), rng.randrange(3))):
            store = isinstance(commands[place], Store)
            causes[place] = rng.choice(
                [Cause.WRITE_SLAVE_ERROR, Cause.WRITE_DECODE_ERROR]
                if store
                else [Cause.READ_SLAVE_ERROR, Cause.READ_DECODE_ERROR]
            )
        if not causes or rng.random() < 0.3:
            command, refusal = refused_command(rng)
            commands += [command, *(random_command(rng) for _ in range(3))]
        yield commands, causes, refusal


@cocotb.test
@cocotb.parametrize(serial=[0, 1])
async def faults_stop_it(dut: Any, serial: int) -> None:
    """The oldest failure is reported with its index, when all that was started has ended; then it waits.

    In serial mode nothing was started behind it.
    """
    rng = random.Random(cocotb.RANDOM_SEED)
    stubs = Stubs(dut, rng)
    await start(dut)
    source = StreamSource(dut, "commands")
    model = stubs.model
    dut.serial.value = serial
    model.serial = bool(serial)
    executed = 0
    reported = set()
    for commands, causes, refusal in failing_runs(rng):
        bad = next((place for place, command in enumerate(commands) if isinstance(command, int)), None)
        model.given = [command for command in commands[:bad] if not isinstance(command, int)]
        model.started = 0
        stubs.causes = causes
        expected = min(causes) if causes else bad
        for command in commands:
            source.put(command if isinstance(command, int) else bits_of(command))
        for _ in range(3000):
            await RisingEdge(dut.aclk)
            if dut.cause.value:
                break
            assert dut.busy.value or source.waiting, "it must not look idle before it shows its fault"
        assert not dut.busy.value
        assert not model.under_way
        assert not dut.commands_ready.value
        assert expected is not None
        assert not serial or model.started == expected + bool(causes)
        assert count_of(dut) == executed + expected, (commands, causes)
        cause = int(dut.cause.value)
        if causes:
            assert cause == causes[expected]
            if isinstance(commands[expected], Store):
                assert int(dut.progress.value) == progress_of(expected)
        else:
            assert cause == refusal
        reported.add(cause)
        executed += expected
        await drop(dut, source)
        dut.clear.value = 1
        await RisingEdge(dut.aclk)
        dut.clear.value = 0
        await RisingEdge(dut.aclk)
        await RisingEdge(dut.aclk)
        assert int(dut.cause.value) == 0
        assert dut.commands_ready.value
    assert reported == set(Cause), reported


async def drop(dut: Any, source: StreamSource) -> None:
    """Take back what has not been taken, as the host interface does."""
    source.drop()
    await RisingEdge(dut.aclk)
    await RisingEdge(dut.aclk)


A_LOAD = Load(LoadInstruction(use="c", layout="row", shape=SQUARE, type="f32", space="global"), 0, 0)
A_STORE = Store(StoreInstruction(layout="row", shape=SQUARE, type="f32"), 8, 4096)
ENDINGS = {
    "together": ((Cause.READ_SLAVE_ERROR, Cause.WRITE_DECODE_ERROR, 0b11),),
    "the load alone": ((Cause.READ_DECODE_ERROR, 0, 0b01), (0, 0, 0b10)),
    "the store alone": ((0, Cause.WRITE_SLAVE_ERROR, 0b10), (0, 0, 0b01)),
    "the load first": ((Cause.READ_DECODE_ERROR, 0, 0b01), (0, Cause.WRITE_SLAVE_ERROR, 0b10)),
    "the store first": ((0, Cause.WRITE_SLAVE_ERROR, 0b10), (Cause.READ_DECODE_ERROR, 0, 0b01)),
}
"""Cycles in which a load and a store end: the causes of both, and who ends (1 the load, 2 the store)."""


@cocotb.test
@cocotb.parametrize(store_first=[False, True], ending=list(ENDINGS))
async def one_of_two_fails(dut: Any, store_first: bool, ending: str) -> None:
    """A load and a store under way: the older failure is reported, whichever of them ends first.

    Up to seven commands were started between them, which have ended.
    """
    load, store, move = (1 << unit.value for unit in (Unit.LOAD, Unit.STORE, Unit.MOVE))
    bits = {1: load, 2: store, 3: load | store}
    source = await start_with_ready_units(dut)

    async def issue(*commands: Command) -> None:
        await source.send(*map(bits_of, commands))
        for _ in range(30):
            await RisingEdge(dut.aclk)

    async def end(fetched: int, done: int) -> None:
        dut.fetched.value, dut.done.value = fetched, done
        await RisingEdge(dut.aclk)
        dut.fetched.value = dut.done.value = 0

    async def fill() -> None:
        await issue(Fill(40, 1, 7))
        await end(move, 0)
        await end(0, move)

    executed = 0
    for round_number in range(24):  # the tags of the commands begin anew meanwhile
        between = round_number % 8
        await issue(A_STORE if store_first else A_LOAD)
        for _ in range(between):
            await fill()
        await issue(A_LOAD if store_first else A_STORE)
        await end(bits[3], 0)
        failed = []
        for load_cause, store_cause, ended in ENDINGS[ending]:
            dut.load_cause.value, dut.store_cause.value = load_cause, store_cause
            dut.store_progress.value = progress_of(round_number) if store_cause else 0
            await end(0, bits[ended])
            failed += [(store_first * (between + 1), load_cause)] * bool(load_cause)
            failed += [((not store_first) * (between + 1), store_cause)] * bool(store_cause)
        while not dut.cause.value:
            await RisingEdge(dut.aclk)
        place, cause = min(failed)
        executed += place
        assert int(dut.cause.value) == cause
        assert count_of(dut) == executed
        if cause in (Cause.WRITE_SLAVE_ERROR, Cause.WRITE_DECODE_ERROR):
            assert int(dut.progress.value) == progress_of(round_number)
        dut.clear.value = 1
        await RisingEdge(dut.aclk)
        dut.clear.value = 0
        await fill()
        executed += 1
        await until_idle(dut, source)
        assert count_of(dut) == executed


@cocotb.test
async def stalls_have_one_reason(dut: Any) -> None:
    """A load or store that waits for registers and bytes of another one: each cycle counts for one of them.

    The registers first; the bytes while it waits for nothing else, until the older one ends. Before there
    is a second, the older one alone is under way.
    """
    source = await start_with_ready_units(dut)
    same_registers = Store(A_STORE.instruction, A_LOAD.register, A_LOAD.address)
    other_registers = Store(A_STORE.instruction, A_LOAD.register + 64, A_LOAD.address)
    same_bytes = Load(A_LOAD.instruction, A_STORE.register, A_STORE.address)
    for older, newer, reason in (
        (A_LOAD, same_registers, "stall_registers"),
        (A_LOAD, other_registers, "stall_memory"),
        (A_STORE, same_bytes, "stall_registers"),
    ):
        valid = getattr(dut, f"{unit_of(newer).name.lower()}_valid")
        for command, expected in ((older, "stall_empty"), (newer, reason)):
            await source.send(bits_of(command))
            for _ in range(30):
                await RisingEdge(dut.aclk)
            for _ in range(10):
                await RisingEdge(dut.aclk)
                assert [name for name in STALLS if getattr(dut, name).value] == [expected]
                assert not valid.value
        for unit in (unit_of(older), unit_of(newer)):
            for name in ("fetched", "done"):
                getattr(dut, name).value = 1 << unit.value
                await RisingEdge(dut.aclk)
                getattr(dut, name).value = 0
            for _ in range(10):
                await RisingEdge(dut.aclk)
        await until_idle(dut, source)


@cocotb.test
async def ends_of_operands(dut: Any) -> None:
    """A fill of one register waits for a command that has it as the first or last of an operand, no other.

    The fill writes, so it waits for what the older command reads and writes, until that ends.
    """
    rng = random.Random(cocotb.RANDOM_SEED)
    source = await start_with_ready_units(dut)
    executed = 0
    for _ in range(250):
        older = random_command(rng, rng.randrange(1, CONFIG.registers - 65))
        while isinstance(older, Fill | Move):
            older = random_command(rng, rng.randrange(1, CONFIG.registers - 65))
        reads, writes = registers(older)
        operand = rng.choice([operand for operand in (*reads, writes) if operand])
        register = rng.choice((min(operand) - 1, min(operand), max(operand), max(operand) + 1))
        waits = any(register in operand for operand in (*reads, writes))
        await source.send(bits_of(older), bits_of(Fill(register, 1, 7)))
        started = False
        for _ in range(40):
            await RisingEdge(dut.aclk)
            started = started or bool(dut.move_valid.value)
        assert started == (not waits), (older, register)
        done = 1 << unit_of(older).value
        for fetched, ended in ((done, 0), (0, done), (1 << Unit.MOVE.value, 0), (0, 1 << Unit.MOVE.value)):
            dut.fetched.value, dut.done.value = fetched, ended
            await RisingEdge(dut.aclk)
            dut.fetched.value = dut.done.value = 0
            for _ in range(10):
                await RisingEdge(dut.aclk)
        executed += 2
        assert not dut.busy.value
        assert count_of(dut) == executed


def unit_of(command: Command) -> Unit:
    match command:
        case Load():
            return Unit.LOAD
        case Store():
            return Unit.STORE
        case Mma(instruction):
            return Unit.F64 if instruction.a_type == "f64" else Unit.TILE
        case _:
            return Unit.MOVE


@cocotb.test
async def single_bits_out_of_range(dut: Any) -> None:
    """An address with one bit beyond those of the bus, and a count with one bit beyond the registers."""
    source = await start_with_ready_units(dut)
    refused = [(Load(A_LOAD.instruction, 0, 1 << bit), Cause.ADDRESS_RANGE) for bit in range(32, 64)]
    refused += [(Fill(0, 1 << bit, 1), Cause.REGISTER_RANGE) for bit in range(9, 16)]
    for command, cause in refused:
        await source.send(bits_of(command))
        for _ in range(40):
            await RisingEdge(dut.aclk)
        assert int(dut.cause.value) == cause, command
        dut.clear.value = 1
        await RisingEdge(dut.aclk)
        dut.clear.value = 0
        await RisingEdge(dut.aclk)


@cocotb.test
async def all_slots_taken(dut: Any) -> None:
    """As many commands under way as there may be: the oldest fails, and others end in the same cycle."""
    source = await start_with_ready_units(dut)
    multiply, f64 = (
        MmaInstruction(
            shape=shape, a_layout="row", b_layout="col", a_type=a, b_type=a, c_type=c, d_type=c, rounding=how
        )
        for shape, a, c, how in ((SQUARE, "f16", "f32", None), (F64, "f64", "f64", "rn"))
    )
    commands = {
        Unit.LOAD: [Load(A_LOAD.instruction, 8 * slot, 2048 * slot) for slot in range(SLOTS[Unit.LOAD])],
        Unit.STORE: [Store(A_STORE.instruction, 32, 1 << 16)] * SLOTS[Unit.STORE],
        Unit.TILE: [Mma(multiply, 64, 40, 48, 56)] * SLOTS[Unit.TILE],
        Unit.F64: [Mma(f64, 80, 72, 74, 76)] * SLOTS[Unit.F64],
        Unit.MOVE: [Fill(88, 1, 7)] * SLOTS[Unit.MOVE],
    }
    count = sum(map(len, commands.values()))
    dut.load_cause.value = Cause.READ_DECODE_ERROR
    dut.store_cause.value = 0
    for _ in range(3):
        await source.send(*(bits_of(command) for same in commands.values() for command in same))
        for _ in range(20 * count):
            await RisingEdge(dut.aclk)
        assert not count_of(dut)
        for name in ("fetched", "done"):
            for step in range(max(SLOTS.values())):
                working = sum(1 << unit.value for unit in Unit if step < SLOTS[unit])
                getattr(dut, name).value = working
                await RisingEdge(dut.aclk)
            getattr(dut, name).value = 0
        while not dut.cause.value:
            await RisingEdge(dut.aclk)
        assert int(dut.cause.value) == Cause.READ_DECODE_ERROR
        assert not count_of(dut), "the first of them failed"
        dut.clear.value = 1
        await RisingEdge(dut.aclk)
        dut.clear.value = 0


@cocotb.test
async def clear_without_a_fault(dut: Any) -> None:
    """Clear at any time but in a fault changes nothing."""
    rng = random.Random(cocotb.RANDOM_SEED)
    stubs = Stubs(dut, rng)
    dut.clear.value = 1
    await start(dut)
    source = StreamSource(dut, "commands", pauses(rng, 0.2))
    stubs.model.given = [
        Fill(0, CONFIG.registers, 1),
        *(random_command(rng) for _ in range(60)),
        Move(0, 0, 0),
    ]
    source.put(*map(bits_of, stubs.model.given))
    await until_idle(dut, source)
    assert stubs.model.started == len(stubs.model.given)
    assert count_of(dut) == len(stubs.model.given)


def test_sequencer(simulate: Simulate) -> None:
    simulate(unit_design("sequencer", Sequencer(CONFIG, count_from=COUNT_FROM)), __name__)
