"""The scoreboard against a list of the commands under way."""

import random
from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge

from cocotb_tests.conftest import Simulate
from cocotb_tests.packing import Packing
from cocotb_tests.streams import start
from hdl.config import CoreConfig
from hdl.control.scoreboard import SLOTS, TAG_BITS, Footprint, Range, Scoreboard, Unit, span_layout
from sim.testbench.unit import unit_design

CONFIG = CoreConfig(f64_units=1, address_bits=16)
FOOTPRINT, RANGE = Packing(Footprint), Packing(Range)
SPAN = Packing(span_layout(CONFIG))
OPERANDS = {Unit.LOAD: 0, Unit.STORE: 1, Unit.TILE: 3, Unit.F64: 3, Unit.MOVE: 1}
REGISTERS = (0, 120, 246)
BYTES = (0, 0xFFE0, 0x1FFC0)
"""Where the registers and bytes lie that commands use: few, so that they often meet, but of all numbers."""

NEIGHBOURS = {REGISTERS: 10, BYTES: 64}
"""How many lie behind each of those."""


@dataclass
class UnderWay:
    """A command that was started."""

    unit: Unit
    reads: list[range | None]
    write: range | None
    span: range
    tag: int
    fetched: bool = False


def random_command(rng: random.Random, tag: int) -> UnderWay:
    """Few registers and bytes, so that commands often meet, also just at an edge."""
    unit = rng.choice(list(Unit))
    absent = 0.5 if unit is Unit.MOVE else 0.1
    reads = [None if rng.random() < absent else random_range(rng, REGISTERS) for _ in range(OPERANDS[unit])]
    write = None if unit is Unit.STORE else random_range(rng, REGISTERS)
    return UnderWay(unit, reads, write, random_range(rng, BYTES), tag, fetched=unit is Unit.LOAD)


def random_range(rng: random.Random, origins: tuple[int, ...]) -> range:
    origin, count = rng.choice(origins), NEIGHBOURS[origins]
    first = rng.randrange(count)
    return range(origin + first, origin + min(count, first + rng.choice([1, 2, rng.randrange(1, 9)])))


def meet(one: range | None, other: range | None) -> bool:
    """Whether two ranges share a number, found out number by number."""
    return one is not None and other is not None and not set(one).isdisjoint(other)


def operand_conflict(under_way: list[UnderWay], unit: Unit, operand: range, *, is_write: bool) -> bool:
    """What a new command of `unit` must wait for."""
    for command in under_way:
        if is_write and command.unit is unit:
            continue
        if meet(command.write, operand):
            return True
        if is_write and not command.fetched and any(meet(read, operand) for read in command.reads):
            return True
    return False


def span_conflict(under_way: list[UnderWay], command: UnderWay) -> bool:
    """Whether a load meets a store's bytes, or a store a load's."""
    against = {Unit.LOAD: Unit.STORE, Unit.STORE: Unit.LOAD}.get(command.unit)
    return any(other.unit is against and meet(other.span, command.span) for other in under_way)


def range_bits(rng: random.Random, operand: range | None) -> dict[str, int]:
    """What is not valid has any bounds."""
    if operand is None:
        return {"valid": 0, "first": rng.randrange(256), "last": rng.randrange(256)}
    return {"valid": 1, "first": operand.start, "last": operand.stop - 1}


def offer(dut: Any, rng: random.Random, command: UnderWay) -> None:
    """Put a new command on the ports."""
    dut.unit.value = command.unit.value
    reads = [range_bits(rng, operand) for operand in (*command.reads, None, None, None)][:3]
    write = range_bits(rng, command.write)
    dut.footprint.value = FOOTPRINT.pack({"reads": reads, "write": write})
    span = {"first": command.span.start, "last": command.span.stop - 1}
    dut.span.value = SPAN.pack(span)
    dut.tag.value = command.tag


@cocotb.test
async def random_commands(dut: Any) -> None:
    """Every answer in every cycle, while commands of all units start, fetch and end at random."""
    rng = random.Random(cocotb.RANDOM_SEED)
    dut.allocate.value = 0
    dut.fetched.value = 0
    dut.done.value = 0
    await start(dut)
    under_way: list[UnderWay] = []
    answers = {"conflict": [0, 0], "span_conflict": [0, 0], "full": [0, 0], "idle": [0, 0]}
    tag = 0
    for _ in range(30_000):
        command = random_command(rng, tag)
        is_write = rng.random() < 0.5
        operand = rng.choice([None, random_range(rng, REGISTERS), random_range(rng, REGISTERS)])
        mine = [other for other in under_way if other.unit is command.unit]
        full = len(mine) == SLOTS[command.unit]
        allocate = not full and rng.random() < 0.2
        offer(dut, rng, command)
        dut.operand.value = RANGE.pack(range_bits(rng, operand))
        dut.is_write.value = is_write
        dut.allocate.value = allocate
        fetching = [first(under_way, unit, fetched=False) for unit in Unit if rng.random() < 0.1]
        ending = [first(under_way, unit, fetched=True) for unit in Unit if rng.random() < 0.08]
        # A load reads no registers: that it had done so would change nothing.
        ignored = rng.randrange(2) << Unit.LOAD.value
        dut.fetched.value = ignored | sum(1 << other.unit.value for other in fetching if other)
        dut.done.value = sum(1 << other.unit.value for other in ending if other)
        await ReadOnly()
        expected = {
            "conflict": operand is not None
            and operand_conflict(under_way, command.unit, operand, is_write=is_write),
            "span_conflict": span_conflict(under_way, command),
            "full": full,
            "idle": not under_way,
        }
        for name, answer in expected.items():
            assert bool(getattr(dut, name).value) == answer, (name, answer, command, operand, under_way)
            answers[name][answer] += 1
        for unit, port in ((Unit.LOAD, dut.load_tag), (Unit.STORE, dut.store_tag)):
            oldest = next((other for other in under_way if other.unit is unit), None)
            assert oldest is None or int(port.value) == oldest.tag
        await RisingEdge(dut.aclk)
        for other in fetching:
            if other:
                other.fetched = True
        under_way = [other for other in under_way if not any(other is gone for gone in ending)]
        if allocate:
            under_way.append(command)
            tag = (tag + 1) % (1 << TAG_BITS)
    assert all(min(counts) > 100 for counts in answers.values()), answers


def first(under_way: list[UnderWay], unit: Unit, *, fetched: bool) -> UnderWay | None:
    """The unit's oldest command, if it has fetched or not as asked; or its oldest that has not fetched."""
    mine = [command for command in under_way if command.unit is unit]
    if fetched:
        return mine[0] if mine and mine[0].fetched else None
    return next((command for command in mine if not command.fetched), None)


def test_scoreboard(simulate: Simulate) -> None:
    simulate(unit_design("scoreboard", Scoreboard(CONFIG)), __name__)
