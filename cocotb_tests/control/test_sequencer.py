"""The warps between queues of commands and stubs of the units, which work side by side."""

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.control.sequencer_bench import (
    CONFIG,
    COUNT_FROM,
    F64,
    MULTIPLIES,
    SLOTS,
    SQUARE,
    STALLS,
    Stubs,
    bits_of,
    count_of,
    of_warp,
    progress_of,
    random_command,
    random_commands,
    registers,
    start_with_ready_units,
    unit_of,
    until_idle,
    warps,
)
from cocotb_tests.streams import StreamSource, pauses, start
from golden.tables.commands import Command, Fill, Load, Mma, Move, Store
from golden.tables.faults import Cause
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from hdl.command import COMMAND_BITS, Opcode
from hdl.control.scoreboard import COMMON_UNITS, Unit
from hdl.control.warps import Warps
from hdl.memory.beats import CAUSE_BITS
from sim.testbench.unit import unit_design


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(serial=[0, 1])
async def in_order_side_by_side(dut: Any, serial: int) -> None:
    """Commands start in order, none before it may, and many while others are in flight unless serial."""
    rng = random.Random(cocotb.RANDOM_SEED)
    stubs = Stubs(dut, rng)
    await start(dut)
    dut.serial.value = serial
    sources = []
    for model in stubs.models:
        model.serial = bool(serial)
        source = StreamSource(dut, f"commands_{model.warp}", pauses(rng, 0.1))
        model.given = random_commands(rng, 800 // len(stubs.models))
        source.put(*(bits_of(command, model.warp) for command in model.given))
        sources.append(source)
    await until_idle(dut, *sources)
    for model in stubs.models:
        assert model.started == len(model.given)
        assert not model.under_way
        assert count_of(dut, model.warp) == len(model.given)
        assert serial or model.overlapped > len(model.given) // 4, model.overlapped
    assert int(dut.cause.value) == 0
    if len(stubs.models) > 1:
        assert stubs.pairs == set(product(COMMON_UNITS, COMMON_UNITS)), (
            "every ordered pair of kinds of two warps"
        )


def refused_command(rng: random.Random, warp: int) -> tuple[int, Cause]:
    """A command of a warp that is refused whatever the memories say, and why."""
    load = LoadInstruction(use="c", layout="row", shape=SQUARE, type="f32", space="global")
    far, stride = rng.getrandbits(32) << 32, rng.getrandbits(32)
    noise = rng.getrandbits(COMMAND_BITS) & ~(15 << 28 | 7)
    return rng.choice(
        [
            (noise | warp << 28 | 7, Cause.ILLEGAL_INSTRUCTION),
            (noise | (warp ^ rng.randrange(1, 16)) << 28 | rng.randrange(8), Cause.WARP_RANGE),
            *(
                (bits_of(command, warp), cause)
                for command, cause in (
                    (Fill(252, 5, 1), Cause.REGISTER_RANGE),
                    (Load(load, 0, far | 2), Cause.MISALIGNED_ADDRESS),
                    (Load(load, 0, far, stride | 1), Cause.MISALIGNED_STRIDE),
                    (Load(load, 0, far | (1 << 32) - 32), Cause.ADDRESS_RANGE),
                    (Load(load, 0, 0, 16 << rng.randrange(23, 28)), Cause.ADDRESS_RANGE),
                )
            ),
        ]
    )


def failing_runs(
    rng: random.Random,
) -> Iterator[tuple[int, list[Command | int], dict[int, int], Cause | None]]:
    """Commands of a warp, of which one or two fail.

    With the causes that the memories report by the command's place, and the cause of the refused one.
    """
    for _ in range(150):
        warp = rng.randrange(warps())
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
            command, refusal = refused_command(rng, warp)
            commands += [command, *(random_command(rng) for _ in range(3))]
        yield warp, commands, causes, refusal


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(serial=[0, 1])
async def faults_stop_it(dut: Any, serial: int) -> None:
    """The oldest failure is reported with its index, when all that started has ended; then the warp waits.

    In serial mode nothing was started behind it. Meanwhile other warps execute their commands as ever.
    """
    rng = random.Random(cocotb.RANDOM_SEED)
    stubs = Stubs(dut, rng)
    await start(dut)
    models = stubs.models
    sources = [StreamSource(dut, f"commands_{model.warp}") for model in models]
    dut.serial.value = serial
    executed = [0] * len(models)
    reported = set()
    for model in models:
        model.serial = bool(serial)

    def put(warp: int, *commands: Command | int) -> None:
        bits = (item if isinstance(item, int) else bits_of(item, warp) for item in commands)
        sources[warp].put(*bits)

    async def rest(warp: int) -> None:
        """Wait until a warp that does not fail has executed its commands."""
        for _ in range(5000):
            await RisingEdge(dut.aclk)
            if not sources[warp].waiting and not of_warp(dut.busy, warp, 1):
                break
        model = models[warp]
        assert model.started == len(model.given)
        executed[warp] += len(model.given)
        assert count_of(dut, warp) == executed[warp]
        model.given, model.started = [], 0

    for warp, commands, causes, refusal in failing_runs(rng):
        await rest(warp)
        model, source = models[warp], sources[warp]
        for other in models:
            if other is not model and len(other.given) < other.started + 8:
                more = [random_command(rng) for _ in range(4)]
                other.given += more
                put(other.warp, *more)
        bad = next((place for place, command in enumerate(commands) if isinstance(command, int)), None)
        model.given = [command for command in commands[:bad] if not isinstance(command, int)]
        stubs.causes[warp] = causes
        expected = min(causes) if causes else bad
        put(warp, *commands)
        for _ in range(3000):
            await RisingEdge(dut.aclk)
            if of_warp(dut.cause, warp, CAUSE_BITS):
                break
            busy = of_warp(dut.busy, warp, 1)
            assert busy or source.waiting, "it must not look idle before it shows its fault"
        assert not of_warp(dut.busy, warp, 1)
        assert not model.under_way
        assert not getattr(dut, f"commands_{warp}_ready").value
        assert expected is not None
        assert not serial or model.started == expected + bool(causes)
        assert count_of(dut, warp) == executed[warp] + expected, (commands, causes)
        cause = of_warp(dut.cause, warp, CAUSE_BITS)
        assert int(dut.cause.value) == cause << CAUSE_BITS * warp, "no other warp has failed"
        if causes:
            assert cause == causes[expected]
            if isinstance(commands[expected], Store):
                assert of_warp(dut.progress, warp, 16) == progress_of(expected)
        else:
            assert cause == refusal
        reported.add(cause)
        executed[warp] += expected
        stubs.causes[warp] = {}
        model.given, model.started, model.failed = [], 0, []
        await drop(dut, source)
        dut.clear.value = 1 << warp
        await RisingEdge(dut.aclk)
        dut.clear.value = 0
        await RisingEdge(dut.aclk)
        await RisingEdge(dut.aclk)
        assert of_warp(dut.cause, warp, CAUSE_BITS) == 0
        assert getattr(dut, f"commands_{warp}_ready").value
    for model in models:
        await rest(model.warp)
    assert reported == set(Cause) - {Cause.UNDEFINED_METADATA}, reported


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


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(store_first=[False, True], ending=list(ENDINGS))
async def one_of_two_fails(dut: Any, store_first: bool, ending: str) -> None:
    """A load and a store in flight: the older failure is reported, whichever of them ends first.

    Up to seven commands were started between them, which have ended. Of the first warp, then of the last one.
    """
    load, store, move = (1 << unit.value for unit in (Unit.LOAD, Unit.STORE, Unit.MOVE))
    bits = {1: load, 2: store, 3: load | store}
    sources = await start_with_ready_units(dut)

    async def issue(*commands: Command) -> None:
        await sources[warp].send(*(bits_of(command, warp) for command in commands))
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

    executed = [0] * warps()
    # The tags of the commands begin anew meanwhile.
    for warp, round_number in product(sorted({0, warps() - 1}), range(24)):
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
        executed[warp] += place
        assert int(dut.cause.value) == cause << CAUSE_BITS * warp
        assert count_of(dut, warp) == executed[warp]
        if cause in (Cause.WRITE_SLAVE_ERROR, Cause.WRITE_DECODE_ERROR):
            assert of_warp(dut.progress, warp, 16) == progress_of(round_number)
        dut.clear.value = 1 << warp
        await RisingEdge(dut.aclk)
        dut.clear.value = 0
        await fill()
        executed[warp] += 1
        await until_idle(dut, sources[warp])
        assert count_of(dut, warp) == executed[warp]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def stalls_have_one_reason(dut: Any) -> None:
    """A load or store that waits for registers and bytes of another one: each cycle counts for one of them.

    The registers first; the bytes while it waits for nothing else, until the older one ends. Before there
    is a second, the older one alone is in flight. A command also waits for a unit that is not ready, and for
    a slot of its unit.
    """
    for warp, source in enumerate(await start_with_ready_units(dut)):
        await stalls_of_a_warp(dut, warp, source)


async def stalls_of_a_warp(dut: Any, warp: int, source: StreamSource) -> None:
    """The same of one warp, while the others have no command."""

    def stalled() -> list[str]:
        return [name for name in STALLS if of_warp(getattr(dut, name), warp, 1)]

    same_registers = Store(A_STORE.instruction, A_LOAD.register, A_LOAD.address)
    other_registers = Store(A_STORE.instruction, A_LOAD.register + 64, A_LOAD.address)
    same_bytes = Load(A_LOAD.instruction, A_STORE.register, A_STORE.address)
    for older, newer, reason in (
        (A_LOAD, same_registers, "stall_registers"),
        (A_LOAD, other_registers, "stall_memory"),
        (A_STORE, same_bytes, "stall_registers"),
    ):
        valid = getattr(dut, f"{unit_of(newer).name.lower()}_valid")
        for command, expected in ((older, "queue_empty"), (newer, reason)):
            await source.send(bits_of(command, warp))
            for _ in range(30):
                await RisingEdge(dut.aclk)
            for _ in range(10):
                await RisingEdge(dut.aclk)
                assert stalled() == [expected]
                assert not valid.value
        for unit in (unit_of(older), unit_of(newer)):
            await end(dut, unit)
        await until_idle(dut, source)
    fills = SLOTS[Unit.MOVE] + 1
    for ready, count in ((0, 1), (1, fills - 1)):
        dut.move_ready.value = ready
        await source.send(*[bits_of(Fill(0, 1, 7), warp)] * count)
        for cycle in range(40):
            await RisingEdge(dut.aclk)
            assert cycle < 30 or stalled() == ["stall_unit"]
    for _ in range(fills):
        await end(dut, Unit.MOVE)
    await until_idle(dut, source)
    # A load that is refused is refused at once, though its unit has no slot.
    loads = SLOTS[Unit.LOAD]
    await source.send(*[bits_of(A_LOAD, warp)] * loads)
    for _ in range(20 * loads):
        await RisingEdge(dut.aclk)
    await source.send(bits_of(replace(A_LOAD, address=2), warp))
    for _ in range(40):
        await RisingEdge(dut.aclk)
        assert stalled() in ([], ["queue_empty"])
    for _ in range(loads):
        await end(dut, Unit.LOAD)
    assert of_warp(dut.cause, warp, CAUSE_BITS) == Cause.MISALIGNED_ADDRESS
    dut.clear.value = 1 << warp
    await RisingEdge(dut.aclk)
    dut.clear.value = 0


async def end(dut: Any, unit: Unit) -> None:
    """The oldest command of a unit has read its registers, and ends."""
    for name in ("fetched", "done"):
        getattr(dut, name).value = 1 << unit.value
        await RisingEdge(dut.aclk)
        getattr(dut, name).value = 0
    for _ in range(10):
        await RisingEdge(dut.aclk)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def ends_of_operands(dut: Any) -> None:
    """A fill of one register waits for a command that has it as the first or last of an operand, no other.

    The fill writes, so it waits for what the older command reads and writes, until that ends.
    """
    rng = random.Random(cocotb.RANDOM_SEED)
    sources = await start_with_ready_units(dut)
    executed = [0] * len(sources)
    for _ in range(250):
        warp = rng.randrange(len(sources))
        older = random_command(rng, rng.randrange(1, CONFIG.registers - 73))
        while isinstance(older, Fill | Move):
            older = random_command(rng, rng.randrange(1, CONFIG.registers - 73))
        reads, writes = registers(older)
        operand = rng.choice([operand for operand in (*reads, writes) if operand])
        register = rng.choice((min(operand) - 1, min(operand), max(operand), max(operand) + 1))
        waits = any(register in operand for operand in (*reads, writes))
        await sources[warp].send(bits_of(older, warp), bits_of(Fill(register, 1, 7), warp))
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
        executed[warp] += 2
        assert not dut.busy.value
        assert count_of(dut, warp) == executed[warp]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def single_bits_out_of_range(dut: Any) -> None:
    """An address with one bit more than the bus, and a count with one bit beyond the registers."""
    sources = await start_with_ready_units(dut)
    refused = [(Load(A_LOAD.instruction, 0, 1 << bit), Cause.ADDRESS_RANGE) for bit in range(32, 64)]
    refused += [(Fill(0, 1 << bit, 1), Cause.REGISTER_RANGE) for bit in range(9, 12)]
    for (command, cause), (warp, source) in product(refused, enumerate(sources)):
        await source.send(bits_of(command, warp))
        for _ in range(40):
            await RisingEdge(dut.aclk)
        assert int(dut.cause.value) == cause << CAUSE_BITS * warp, command
        dut.clear.value = 1 << warp
        await RisingEdge(dut.aclk)
        dut.clear.value = 0
        await RisingEdge(dut.aclk)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def all_slots_taken(dut: Any) -> None:
    """All slots of a warp hold commands in flight; they end one by one, and it is busy until the last ends.

    Then the oldest one fails while others end in the same cycle.
    """
    sources = await start_with_ready_units(dut)
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

    async def fill(warp: int) -> None:
        await sources[warp].send(*(bits_of(command, warp) for same in commands.values() for command in same))
        for _ in range(20 * count):
            await RisingEdge(dut.aclk)

    for warp in range(warps()):
        await fill(warp)
        for ended, unit in enumerate(unit for unit, same in commands.items() for _ in same):
            assert int(dut.busy.value) == int(dut.queue_empty.value) == 1 << warp
            assert count_of(dut, warp) == ended
            await end(dut, unit)
        assert not dut.busy.value
    dut.load_cause.value = Cause.READ_DECODE_ERROR
    for warp in 3 * list(range(warps())):
        await fill(warp)
        assert count_of(dut, warp) == count
        for name in ("fetched", "done"):
            for step in range(max(SLOTS.values())):
                working = sum(1 << unit.value for unit in COMMON_UNITS if step < SLOTS[unit])
                getattr(dut, name).value = working
                await RisingEdge(dut.aclk)
            getattr(dut, name).value = 0
        while not dut.cause.value:
            await RisingEdge(dut.aclk)
        assert int(dut.cause.value) == Cause.READ_DECODE_ERROR << CAUSE_BITS * warp
        assert count_of(dut, warp) == count, "the first of them failed"
        dut.clear.value = 1 << warp
        await RisingEdge(dut.aclk)
        dut.clear.value = 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def clear_without_a_fault(dut: Any) -> None:
    """Clear at any time but in a fault changes nothing."""
    rng = random.Random(cocotb.RANDOM_SEED)
    stubs = Stubs(dut, rng)
    dut.clear.value = (1 << warps()) - 1
    await start(dut)
    sources = [StreamSource(dut, f"commands_{model.warp}", pauses(rng, 0.2)) for model in stubs.models]
    for model, source in zip(stubs.models, sources, strict=True):
        model.given = [
            Fill(0, CONFIG.registers, 1),
            *(random_command(rng) for _ in range(60)),
            Move(0, 0, 0),
        ]
        source.put(*(bits_of(command, model.warp) for command in model.given))
    await until_idle(dut, *sources)
    for model in stubs.models:
        assert model.started == len(model.given)
        assert count_of(dut, model.warp) == len(model.given)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def fills_that_could_be_multiplies(dut: Any) -> None:
    """Fills and moves whose other bits make them multiplies but for the opcode."""
    rng = random.Random(cocotb.RANDOM_SEED)
    stubs = Stubs(dut, rng)
    await start(dut)
    sources = [StreamSource(dut, f"commands_{model.warp}") for model in stubs.models]
    for model, source in zip(stubs.models, sources, strict=True):
        for instruction in rng.sample([*MULTIPLIES[False], *MULTIPLIES[True]], 50):
            bits = bits_of(Mma(instruction, 0, 0, 0, 0), model.warp)
            count, value = bits >> 16 & (1 << 12) - 1, bits >> 64 & (1 << 32) - 1
            fill, move = Fill(0, count, value), Move(0, 0, count)
            command, opcode = rng.choice([(fill, Opcode.FILL), (move, Opcode.MOVE)])
            if count <= CONFIG.registers:
                model.given.append(command)
                source.put(bits >> 3 << 3 | opcode.value)
    await until_idle(dut, *sources)
    for model in stubs.models:
        assert model.started == len(model.given) > 10


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def each_fault_is_cleared_by_itself(dut: Any) -> None:
    """All warps are at fault; clear of some but not all of them ends the faults of these alone."""
    rng = random.Random(cocotb.RANDOM_SEED)
    Stubs(dut, rng)
    await start(dut)
    for warp in range(warps()):
        await StreamSource(dut, f"commands_{warp}").send(warp << 28)
    for _ in range(20):
        await RisingEdge(dut.aclk)
    left = set(range(warps()))
    while left:
        assert int(dut.cause.value) == sum(Cause.ILLEGAL_INSTRUCTION << CAUSE_BITS * warp for warp in left)
        cleared = set(rng.sample(sorted(left), rng.randint(1, max(1, len(left) - 1))))
        left -= cleared
        dut.clear.value = sum(1 << warp for warp in cleared)
        await RisingEdge(dut.aclk)
        dut.clear.value = 0
        await RisingEdge(dut.aclk)
        await RisingEdge(dut.aclk)
    assert not int(dut.cause.value)
    assert not int(dut.busy.value)


@pytest.mark.parametrize("count", [2, *(pytest.param(count, marks=SLOW) for count in (1, 8))])
def test_sequencer(simulate: Simulate, count: int) -> None:
    unit = Warps(replace(CONFIG, warps=count), count_from=COUNT_FROM)
    simulate(unit_design(f"sequencer-{count}", unit), __name__, values={"warps": count})
