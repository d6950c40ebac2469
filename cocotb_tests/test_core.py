"""The whole core, from its generated Verilog, between cocotbext-axi's host and memory."""

import random
import re
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiResp
from numpy.typing import NDArray

from cocotb_tests.conftest import Simulate
from cocotb_tests.core_bench import BASE, SCRATCH, SIZE, SQUARE, CoreBench
from cocotb_tests.core_design import core_design
from cocotb_tests.runner import parameters
from cocotb_tests.streams import reset
from golden.commands import Command, Fill, Load, Mma, Move, Store
from golden.faults import Cause
from golden.formats import FORMATS
from golden.instruction_set import (
    LAYOUTS,
    LoadInstruction,
    MmaInstruction,
    Shape,
    StoreInstruction,
)
from golden.layouts import LANES, fragment
from golden.lines import gather_lines
from hdl.command import encode
from hdl.config import PRESETS, CoreConfig

CAPTURES = Path(__file__).parents[1] / "tests" / "data" / "float16.npz"
SHAPES = (SQUARE, Shape(8, 32, 16), Shape(32, 8, 16))
TYPES = [("f16", "f16"), ("f16", "f32"), ("f32", "f16"), ("f32", "f32")]


def config() -> CoreConfig:
    return PRESETS[parameters()["preset"]]


async def bench(dut: Any, pause: float = 0.2) -> CoreBench:
    made = CoreBench(dut, config())
    await made.start(pause)
    return made


def captured_tiles() -> list[tuple[MmaInstruction, list[NDArray[Any]]]]:
    """Every f16 multiply that was captured from the chip: the instruction and a, b, c, d of each tile."""
    found = []
    with np.load(CAPTURES) as loaded:
        for name in sorted({key.rpartition("/")[0] for key in loaded.files}):
            match = re.fullmatch(r"m(\d+)n(\d+)k(\d+)_(f16|f32)_f16_(f16|f32)", name.rpartition("/")[2])
            if not match:
                continue
            instruction = multiply_of(Shape(*map(int, match.group(1, 2, 3))), match[5], match[4])
            arrays = [loaded[f"{name}/{part}"] for part in "abcd"]
            found += [(instruction, list(tile)) for tile in zip(*arrays, strict=True)]
    return found


def multiply_of(shape: Shape, c_type: str, d_type: str, *, saturate: bool = False) -> MmaInstruction:
    return MmaInstruction(
        shape=shape,
        a_layout="row",
        b_layout="col",
        a_type="f16",
        b_type="f16",
        c_type=c_type,
        d_type=d_type,
        saturate=saturate,
    )


def random_stride(rng: random.Random, use: Any, layout: Any, shape: Shape, name: str) -> int:
    """A legal stride: the least one or up to two steps more."""
    step = fragment(use, name, shape).size * 8 // FORMATS[name].bits
    least = -(-shape.default_stride(use, layout) // step) * step
    return least + step * rng.randrange(3)


@cocotb.test
async def captured_multiplies(dut: Any) -> None:
    """What the chip computed: loaded, multiplied and stored by the core, every bit equal.

    All combinations of D and C and all shapes; layouts, strides and registers at random.
    """
    made = await bench(dut)
    rng = made.rng
    tiles = captured_tiles()
    instructions = {str(instruction) for instruction, _ in tiles}
    assert len(instructions) == 12, "three shapes, four combinations of D and C"
    chosen = tiles[:: parameters()["every"]]
    assert {str(instruction) for instruction, _ in chosen} == instructions
    for instruction, (a, b, c, d) in chosen:
        made.pause(rng.choice([0, 0, 0.3]))
        shape = instruction.shape
        layouts = [rng.choice(LAYOUTS) for _ in range(4)]
        registers = config().registers
        first = dict(zip("abc", rng.sample(range(0, registers - 7, 8), 3), strict=True))
        first["d"] = first["c"] if rng.random() < 0.5 else rng.randrange(registers - 7)
        commands: list[Command] = []
        for use, matrix, name, address, layout in (
            ("a", a, "f16", BASE + 0x20 * rng.randrange(8), layouts[0]),
            ("b", b, "f16", BASE + 0xFE0, layouts[1]),
            ("c", c, instruction.c_type, BASE + 0x2000 + 0x20 * rng.randrange(8), layouts[2]),
        ):
            stride = random_stride(rng, use, layout, shape, name)
            load = made.place(matrix, use, layout, shape, name, address, stride)
            commands.append(Load(load.instruction, first[use], address, stride))
        commands.append(Mma(instruction, first["d"], first["a"], first["b"], first["c"]))
        store = Store(
            StoreInstruction(layout=layouts[3], shape=shape, type=instruction.d_type),
            first["d"],
            BASE + 0x4FC0,
            random_stride(rng, "d", layouts[3], shape, instruction.d_type),
        )
        assert await made.run(*commands, store) is None
        assert np.array_equal(made.stored(store), d), instruction
        made.compare_memory(instruction)


@cocotb.test
async def random_programs(dut: Any) -> None:
    """Commands at random, some of them faulty, one after the other without waiting for the end."""
    made = await bench(dut)
    faults = 0
    for round_number in range(parameters()["rounds"]):
        made.pause(made.rng.choice([0, 0.2, 0.5]))
        for _ in range(6):
            commands = [random_command(made) for _ in range(made.rng.randrange(1, 6))]
            faults += await made.run(*commands) is not None
            made.compare_memory(commands)
        await made.compare()
        if round_number % 3 == 2:
            await made.randomize()
    assert faults, "some of them are to be faulty"


def random_command(made: CoreBench) -> Command:
    """Mostly legal; operands may overlap in any way."""
    rng = made.rng
    registers = config().registers
    first = [rng.randrange(registers - 7) for _ in range(4)]
    if rng.random() < 0.02:
        first[rng.randrange(4)] = registers - 1
    shape, (c_type, d_type) = rng.choice(SHAPES), rng.choice(TYPES)
    kind = rng.randrange(6)
    if kind < 2:
        return Mma(multiply_of(shape, c_type, d_type, saturate=rng.random() < 0.3), *first)
    if kind == 2:
        return Fill(first[0], rng.randrange(8), 0x3C00_3C00 + rng.getrandbits(9))
    if kind == 3:
        return Move(first[0], first[1], rng.randrange(8))
    layout = rng.choice(LAYOUTS)
    use, name = rng.choice([("a", "f16"), ("b", "f16"), ("c", c_type), ("d", d_type)])
    size = fragment(use, name, shape).size
    stride: int | None = random_stride(rng, use, layout, shape, name)
    address = BASE + size * rng.randrange(0x4000 // size)
    fault = rng.random()
    if fault < 0.05:
        address += rng.choice([1, 2, 8])
    elif fault < 0.1:
        stride = rng.choice([0, 1, 7])
    elif fault < 0.15:
        address = rng.choice([0, BASE - 64, BASE + SIZE - 128, (1 << config().address_bits) - 64])
    if use == "d":
        instruction = StoreInstruction(layout=layout, shape=shape, type=name)
        return Store(instruction, first[0], address, stride)
    load = LoadInstruction(use=use, layout=layout, shape=shape, type=name)
    return Load(load, first[0], address, stride)


@cocotb.test
async def hazards(dut: Any) -> None:
    """D over C, A and B at every offset, C and D of mixed types: operands count as they were before."""
    made = await bench(dut, 0)
    registers = config().registers
    for other in "cab":
        for offset in range(-8, 9):
            for c_type, d_type in TYPES if other == "c" else made.rng.sample(TYPES, 1):
                shape = made.rng.choice(SHAPES)
                places = {"c": 33, "a": 12, "b": 23}
                first_d = min(max(places[other] + offset, 0), registers - 8)
                await reload(made, shape, places, c_type)
                multiply = Mma(
                    multiply_of(shape, c_type, d_type), first_d, places["a"], places["b"], places["c"]
                )
                store = Store(
                    StoreInstruction(layout="row", shape=SQUARE, type="f32"),
                    made.rng.choice([max(first_d - 4, 0), min(first_d + 4, registers - 8)]),
                    SCRATCH,
                )
                whole = Store(
                    StoreInstruction(layout="row", shape=SQUARE, type="f32"), first_d, SCRATCH + 0x400
                )
                assert await made.run(multiply, store, whole) is None
                made.compare_memory(multiply)
    await made.compare()


async def reload(made: CoreBench, shape: Shape, places: dict[str, int], c_type: str) -> None:
    """Load A, B and C anew from random places."""
    commands = []
    for use, name in (("a", "f16"), ("b", "f16"), ("c", c_type)):
        layout = made.rng.choice(LAYOUTS)
        stride = random_stride(made.rng, use, layout, shape, name)
        instruction = LoadInstruction(use=use, layout=layout, shape=shape, type=name)
        address = BASE + 32 * made.rng.randrange(0x4000 // 32)
        commands.append(Load(instruction, places[use], address, stride))
    assert await made.run(*commands) is None


@cocotb.test
async def refused_commands(dut: Any) -> None:
    """Each way to be refused: cause and index right, nothing changed, the queue dropped, the core usable."""
    made = await bench(dut)
    registers = config().registers
    load = LoadInstruction(use="a", layout="row", shape=SQUARE, type="f16")
    store = StoreInstruction(layout="col", shape=SQUARE, type="f32")
    shared = LoadInstruction(use="a", layout="row", shape=SQUARE, type="f16", space="shared")
    multiply = multiply_of(SQUARE, "f32", "f32")
    end = 1 << config().address_bits
    bad: list[tuple[Command, Cause]] = [
        (Load(load, 0, BASE + 16), Cause.MISALIGNED_ADDRESS),
        (Store(store, 0, BASE + 4), Cause.MISALIGNED_ADDRESS),
        (Load(load, 0, BASE, 15), Cause.SHORT_STRIDE),
        (Store(store, 0, BASE, 0), Cause.SHORT_STRIDE),
        (Load(load, 0, BASE, 24), Cause.MISALIGNED_STRIDE),
        (Store(store, 0, BASE, 20), Cause.MISALIGNED_STRIDE),
        (Load(load, registers - 7, BASE), Cause.REGISTER_RANGE),
        (Store(store, registers - 7, BASE), Cause.REGISTER_RANGE),
        (Mma(multiply, registers - 7, 0, 8, 16), Cause.REGISTER_RANGE),
        (Mma(multiply, 0, registers - 7, 8, 16), Cause.REGISTER_RANGE),
        (Mma(multiply, 0, 8, registers - 7, 16), Cause.REGISTER_RANGE),
        (Mma(multiply, 0, 8, 16, registers - 7), Cause.REGISTER_RANGE),
        (Fill(registers - 1, 2, 0), Cause.REGISTER_RANGE),
        (Move(0, registers - 1, 2), Cause.REGISTER_RANGE),
        (Move(registers - 1, 0, 2), Cause.REGISTER_RANGE),
        (Load(load, 0, end - 256), Cause.ADDRESS_RANGE),
        (Load(load, 0, end), Cause.ADDRESS_RANGE),
        (Store(store, 0, BASE, 0xFFFF_FFF8), Cause.ADDRESS_RANGE),
        (Load(load, registers - 1, BASE + 1, 3), Cause.REGISTER_RANGE),
        (Load(load, 0, BASE + 1, 3), Cause.MISALIGNED_ADDRESS),
    ]
    if not config().shared_bytes:
        bad.append((Load(shared, 0, BASE), Cause.ILLEGAL_INSTRUCTION))
    made.checker.read_bursts.clear()
    made.checker.write_bursts.clear()
    for command, cause in bad:
        before = [Fill(1, 1, made.rng.getrandbits(32)) for _ in range(made.rng.randrange(3))]
        after = Fill(0, 8, 0xDEAD_BEEF)
        fault = await made.run(*before, command, after)
        assert fault is not None
        assert fault.cause == cause, command
        await made.cycles(made.rng.randrange(30))
        assert await made.host.get("STATUS") == config().queue_depth << 8, "the queue is to be empty"
    assert not made.checker.read_bursts
    assert not made.checker.write_bursts
    await made.compare()


@cocotb.test
async def unknown_words(dut: Any) -> None:
    """Words that are no command stop the core."""
    made = await bench(dut)
    for words in ([0] * 5, [6, 0, 0, 0, 0], [7, 1, 2, 3, 4], [0xFFFF_FFFF] * 5, [0x7FFF_FFF9, 0, BASE, 0, 0]):
        await made.push(words)
        assert await made.wait() == Cause.ILLEGAL_INSTRUCTION
        assert await made.host.get("FAULT_INDEX") == made.golden.counters.instructions
        await made.clear()
        assert await made.run(Fill(3, 1, made.rng.getrandbits(32))) is None
    await made.compare()


@cocotb.test
async def bus_errors(dut: Any) -> None:
    """SLVERR and DECERR of one beat, wherever it is: loads change nothing, stores write the other beats."""
    made = await bench(dut)
    for use, name in (("a", "f16"), ("c", "f32"), ("d", "f16"), ("d", "f32")):
        for response in (AxiResp.SLVERR, AxiResp.DECERR):
            for where in range(3):
                await one_bus_error(made, use, name, response, where)
                assert await made.run(Fill(2, 3, made.rng.getrandbits(32)), random_load(made)) is None
        await made.compare()


async def one_bus_error(made: CoreBench, use: Any, name: str, response: AxiResp, where: int) -> None:
    """Refuse the first, the last or another beat of an access."""
    layout = made.rng.choice(LAYOUTS)
    stride = random_stride(made.rng, use, layout, SQUARE, name)
    address = BASE + 32 * made.rng.randrange(0x3000 // 32)
    is_store = use == "d"
    register = made.rng.randrange(config().registers - 7)
    command: Load | Store
    if is_store:
        instruction = StoreInstruction(layout=layout, shape=SQUARE, type=name)
        command = Store(instruction, register, address, stride)
    else:
        command = Load(
            LoadInstruction(use=use, layout=layout, shape=SQUARE, type=name), register, address, stride
        )
    lines = gather_lines(command.instruction, address, stride)
    beats = [beat for line, count in lines for beat in range(line, line + count, 16)]
    bad = beats[(0, -1, made.rng.randrange(len(beats)))[where]]
    made.bus.faults = {bad: response}
    slave = response == AxiResp.SLVERR
    if is_store:
        kept = made.bus.memory.data[bad - BASE : bad - BASE + 16].copy()
        await made.fail(command, Cause.WRITE_SLAVE_ERROR if slave else Cause.WRITE_DECODE_ERROR)
        refused = [
            at for at, (first, count) in enumerate(_last_bursts(made, lines)) if 0 <= bad - first < 16 * count
        ]
        assert [await made.host.get("FAULT_PROGRESS")] == refused
        made.golden.memory.data[:] = made.memory_after(command)
        made.golden.memory.data[bad - BASE : bad - BASE + 16] = kept
    else:
        await made.fail(command, Cause.READ_SLAVE_ERROR if slave else Cause.READ_DECODE_ERROR)
    made.compare_memory(command)
    made.bus.faults = {}


@cocotb.test
async def errors_among_others(dut: Any) -> None:
    """A load or store that a memory refuses while other commands run beside it.

    What came before has ended, what needs its registers has not begun, the rest is all or nothing.
    """
    made = await bench(dut)
    started = 0
    for round_number in range(40):
        made.pause(made.rng.choice([0, 0, 0.3]))
        is_store = round_number % 2 == 1
        address = BASE + 0x2800 + 32 * made.rng.randrange(0x800 // 32)
        before = [Fill(0, 8, made.rng.getrandbits(32)), random_load_to(made, 8)]
        bad: Command = (
            Store(StoreInstruction(layout="row", shape=SQUARE, type="f32"), 8, address)
            if is_store
            else Load(LoadInstruction(use="c", layout="row", shape=SQUARE, type="f32"), 16, address)
        )
        dependent = Move(24, 16, 1)
        free = Fill(25, 1, made.rng.getrandbits(32))
        for command in before:
            made.golden.execute(command)
        index = made.golden.counters.instructions
        made.bus.faults = {address + 16 * made.rng.randrange(64): AxiResp.SLVERR}
        stored = made.memory_after(bad) if is_store else None
        for command in (*before, bad, free, *(() if is_store else (dependent,))):
            await made.push(command)
        assert await made.wait() == (Cause.WRITE_SLAVE_ERROR if is_store else Cause.READ_SLAVE_ERROR)
        assert await made.host.get("FAULT_INDEX") == index
        await made.clear()
        if stored is not None:
            (kept,) = made.bus.faults
            stored[kept - BASE : kept - BASE + 16] = made.golden.memory.data[kept - BASE : kept - BASE + 16]
            made.golden.memory.data[:] = stored
            made.compare_memory(bad)
        made.bus.faults = {}
        value, _ = await made.host.read_lane(25, 0)
        if value == free.value:
            started += 1
            made.golden.write_registers(25, np.full((1, LANES), free.value, dtype=np.uint32))
        await made.compare()
    assert started, "some of the commands behind are to have been started"


@cocotb.test
@cocotb.parametrize(channel=["ar", "r", "aw", "w", "b"])
async def long_stalls(dut: Any, channel: str) -> None:
    """A channel of the memory stands still for thousands of cycles: the core waits, and nothing is lost."""
    made = await bench(dut, 0)
    store = StoreInstruction(layout="col", shape=SQUARE, type="f32")
    for before in (0, 2):
        commands = [
            random_load_to(made, 0),
            Store(store, 8, SCRATCH),
            random_load_to(made, 16),
            Mma(multiply_of(SQUARE, "f32", "f32"), 24, 0, 16, 24),
            Store(store, 24, SCRATCH + 0x400),
        ]
        for place, command in enumerate(commands):
            if place == before:
                await made.cycles(made.rng.randrange(40))
                made.bus.hold(channel, hold=True)
            made.golden.execute(command)
            await made.push(command)
        await made.cycles(3000)
        assert await made.host.get("STATUS") & 1, "it can only wait"
        made.bus.hold(channel, hold=False)
        assert await made.wait() is None
        made.compare_memory(commands)
    await made.compare()


def random_load_to(made: CoreBench, register: int) -> Load:
    return Load(random_load(made).instruction, register, BASE + 32 * made.rng.randrange(0x2000 // 32))


def _last_bursts(made: CoreBench, lines: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The bursts of the last store, which are all of its lines."""
    beats = sum(count for _, count in lines) // 16
    bursts: list[tuple[int, int]] = []
    for burst in reversed(made.checker.write_bursts):
        if sum(count for _, count in bursts) == beats:
            break
        bursts.insert(0, burst)
    return bursts


def random_load(made: CoreBench) -> Load:
    load = LoadInstruction(use="c", layout=made.rng.choice(LAYOUTS), shape=SQUARE, type="f32")
    place = BASE + 32 * made.rng.randrange(0x3000 // 32)
    return Load(load, made.rng.randrange(config().registers - 7), place)


@cocotb.test
async def memory_ends(dut: Any) -> None:
    """Accesses across either end of memory, against the golden machine's idea of what exists."""
    made = await bench(dut)
    for use, name in (("a", "f16"), ("b", "f16"), ("c", "f32"), ("d", "f16"), ("d", "f32")):
        for address in (BASE - 256, BASE + SIZE - 256, BASE + SIZE - 32, 0):
            layout = made.rng.choice(LAYOUTS)
            stride = random_stride(made.rng, use, layout, SQUARE, name)
            if use == "d":
                command: Command = Store(
                    StoreInstruction(layout=layout, shape=SQUARE, type=name), 5, address, stride
                )
                expected = Cause.WRITE_DECODE_ERROR
            else:
                command = Load(
                    LoadInstruction(use=use, layout=layout, shape=SQUARE, type=name), 5, address, stride
                )
                expected = Cause.READ_DECODE_ERROR
            fault = await made.run(command, Fill(0, 8, 1))
            assert fault is not None
            assert fault.cause == expected
            made.compare_memory(command)
    await made.compare()


@cocotb.test
async def full_queue(dut: Any) -> None:
    """A command pushed into a full queue is refused, and it alone is missing afterwards."""
    made = await bench(dut, 0)
    depth = config().queue_depth
    made.bus.pause(made.rng, 0.97)
    slow = random_load(made)
    accepted: list[Command] = [slow]
    await made.push(slow)
    await made.cycles(20)
    refused = 0
    for number in range(depth + 4):
        command = Fill(slow.register + number % 8, 1, made.rng.getrandbits(32))
        if await made.host.push(encode(command)) == AxiResp.OKAY:
            accepted.append(command)
        else:
            refused += 1
            assert await made.host.get("STATUS") >> 8 == 0
    assert refused == 3
    assert len(accepted) == depth + 2, "one waits in the sequencer for the registers of the load"
    made.bus.pause(made.rng, 0)
    assert await made.wait() is None
    for command in accepted:
        made.golden.execute(command)
    assert await made.host.counter("INSTRUCTIONS") == made.golden.counters.instructions
    await made.compare()


@cocotb.test
async def window(dut: Any) -> None:
    """The host sees and sets every lane while the core is idle, and is refused while it works."""
    made = await bench(dut, 0)
    rng = made.rng
    registers = config().registers
    for register in (0, 1, registers - 1, rng.randrange(registers)):
        values = made.golden.read_registers()[register : register + 1]
        for lane in range(LANES):
            assert await made.host.read_lane(register, lane) == (int(values[0, lane]), AxiResp.OKAY)
            if rng.random() < 0.5:
                values[0, lane] = rng.getrandbits(32)
                assert await made.host.write_lane(register, lane, int(values[0, lane])) == AxiResp.OKAY
        made.golden.write_registers(register, values)
    made.bus.pause(rng, 0.95)
    load = random_load(made)
    made.golden.execute(load)
    await made.push(load)
    refused = 0
    for _ in range(20):
        assert await made.host.get("STATUS") & 1
        _, response = await made.host.read_lane(0, 3)
        refused += response == AxiResp.SLVERR
        assert await made.host.write_lane(0, 3, 0x0BAD_0BAD) == AxiResp.SLVERR
    assert refused == 20
    made.bus.pause(rng, 0)
    assert await made.wait() is None
    await made.compare()


@cocotb.test
async def counters_and_interrupt(dut: Any) -> None:
    """Counts are exact, and the interrupt says what it is enabled to say."""
    made = await bench(dut)
    names = ("CYCLES", "DOT_PRODUCT_CYCLES", "READ_BEATS", "WRITE_BEATS")
    await made.host.set("INTERRUPT_ENABLE", 1)
    await made.cycles(2)
    assert dut.irq.value
    before = {name: await made.host.counter(name) for name in names}
    beats = made.checker.read_beats, made.checker.write_beats
    at_work = 0

    async def watch() -> None:
        nonlocal at_work
        while True:
            await RisingEdge(dut.aclk)
            at_work += not dut.irq.value

    watcher = cocotb.start_soon(watch())
    multiplies = commands = results = 0
    for _ in range(12):
        batch = [random_load(made), Fill(0, 3, 7)]
        shape, (c_type, d_type) = made.rng.choice(SHAPES), made.rng.choice(TYPES)
        batch.append(Mma(multiply_of(shape, c_type, d_type), 0, 8, 16, 24))
        batch.append(Store(StoreInstruction(layout="row", shape=shape, type="f32"), 24, SCRATCH))
        batch = made.rng.sample(batch, made.rng.randrange(1, 5))
        multiplies += sum(isinstance(command, Mma) for command in batch)
        results += 256 * sum(isinstance(command, Mma) for command in batch)
        commands += len(batch)
        assert await made.run(*batch) is None
    await made.cycles(3)
    watcher.cancel()
    after = {name: await made.host.counter(name) - before[name] for name in names}
    assert multiplies
    assert after["DOT_PRODUCT_CYCLES"] == results
    assert after["READ_BEATS"] == made.checker.read_beats - beats[0]
    assert after["WRITE_BEATS"] == made.checker.write_beats - beats[1]
    waits = at_work - after["CYCLES"]
    assert 2 * 12 <= waits <= 2 * commands, "two cycles from the queue, of a command that finds the core idle"
    assert await made.host.counter("INSTRUCTIONS") == made.golden.counters.instructions

    await made.host.set("INTERRUPT_ENABLE", 2)
    await made.cycles(2)
    assert not dut.irq.value
    await made.push(Fill(config().registers - 1, 2, 0))
    assert await made.wait() == Cause.REGISTER_RANGE
    assert dut.irq.value
    await made.clear()
    assert not dut.irq.value
    await made.host.set("INTERRUPT_ENABLE", 0)


@cocotb.test
async def reset_in_a_burst(dut: Any) -> None:
    """Reset during a load, a store or a multiply leaves a clean core, as after the first reset."""
    made = await bench(dut)
    store = StoreInstruction(layout="row", shape=SQUARE, type="f32")
    for round_number in range(9):
        load = random_load(made)
        command: Command = (
            load,
            Store(store, 8, SCRATCH),
            Mma(multiply_of(SQUARE, "f32", "f32"), 0, 8, 16, 0),
        )[round_number % 3]
        made.bus.pause(made.rng, 0.3)
        await made.push(command)
        await made.push(Fill(0, 4, 0xFFFF_FFFF))
        await until_midway(made, command)
        await reset(dut, made.rng.randrange(2, 6))
        assert await made.host.get("STATUS") == config().queue_depth << 8
        for name in ("INSTRUCTIONS", "CYCLES", "DOT_PRODUCT_CYCLES", "READ_BEATS", "WRITE_BEATS"):
            assert await made.host.counter(name) == 0, name
        assert await made.host.get("FAULT_CAUSE") == 0
        await made.restart()
        assert await made.run(Mma(multiply_of(SQUARE, "f32", "f32"), 24, 8, 16, 0)) is None
        await made.compare()


async def until_midway(made: CoreBench, command: Command) -> None:
    """Until a burst is under way, or some results have been made."""
    if isinstance(command, Mma):
        await made.cycles(made.rng.randrange(40, 120))
        return
    counted = made.checker.read_beats + made.checker.write_beats
    goal = counted + made.rng.randrange(2, 40)
    for _ in range(3000):
        if made.checker.read_beats + made.checker.write_beats >= goal:
            return
        await RisingEdge(made.dut.aclk)
    raise AssertionError("no burst")


@pytest.mark.parametrize("preset", ["small", "tiny", "standard"])
def test_core(simulate: Simulate, preset: str) -> None:
    design = core_design(preset)
    if preset == "small":
        simulate(design, __name__, values={"preset": preset, "every": 1, "rounds": 8})
    else:
        smoke = ("captured_multiplies", "random_programs")
        simulate(design, __name__, values={"preset": preset, "every": 5, "rounds": 3}, cases=smoke)
