"""The scoreboard against a list of the commands in flight."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge

from cocotb_tests.conftest import Simulate
from cocotb_tests.packing import Packing
from cocotb_tests.streams import start
from hdl.config import CoreConfig
from hdl.control.scoreboard import (
    COMMON_UNITS,
    COMPARED,
    Footprint,
    Scoreboard,
    Unit,
    slots,
    span_layout,
    tag_bits,
)
from sim.testbench.unit import unit_design

CONFIG = CoreConfig(f64_units=1, address_bits=16, registers=256)
SLOTS, TAG_BITS = slots(CONFIG), tag_bits(CONFIG)
FOOTPRINT, COMPARED_OPERANDS = Packing(Footprint), Packing(COMPARED)
SPAN = Packing(span_layout(CONFIG))
OPERANDS = {Unit.LOAD: 0, Unit.STORE: 1, Unit.TILE: 3, Unit.F64: 3, Unit.MOVE: 1}
REGISTERS, BLOCKS = 256, 2048
"""How many there are."""


@dataclass(eq=False)
class UnderWay:
    """A command that was started."""

    unit: Unit
    reads: list[range | None]
    write: range | None
    span: range
    tag: int
    fetched: bool = False


def random_command(rng: random.Random, tag: int, others: Sequence[UnderWay] = ()) -> UnderWay:
    """Registers and blocks anywhere, and often at an edge of those that others have.

    Then one operand alone is there, so that no other one hides it.
    """
    unit = rng.choice(COMMON_UNITS)
    absent = 0.5 if unit is Unit.MOVE else 0.1
    taken = [operand for other in others for operand in (*other.reads, other.write) if operand]
    count = OPERANDS[unit] + (unit is not Unit.STORE)
    aimed = rng.randrange(count) if taken and rng.random() < 0.7 else None
    operands = [
        at_edge(rng, REGISTERS, rng.choice(taken))
        if number == aimed
        else None
        if rng.random() < absent and number < OPERANDS[unit]
        else random_range(rng, REGISTERS)
        if aimed is None
        else apart(rng, REGISTERS, taken)
        for number in range(count)
    ]
    write = None if unit is Unit.STORE else operands.pop()
    opposites = [other.span for other in others if {unit, other.unit} == {Unit.LOAD, Unit.STORE}]
    is_near = opposites and rng.random() < 0.7
    span = at_edge(rng, BLOCKS, rng.choice(opposites)) if is_near else random_range(rng, BLOCKS)
    return UnderWay(unit, operands, write, span, tag, fetched=unit is Unit.LOAD)


def random_range(rng: random.Random, limit: int) -> range:
    """A short range anywhere below the limit."""
    count = rng.choice([1, 2, rng.randrange(1, 9)])
    first = rng.randrange(limit - count + 1)
    return range(first, first + count)


def at_edge(rng: random.Random, limit: int, other: range) -> range:
    """At an edge of another range, which it just meets or just does not."""
    count = len(random_range(rng, limit))
    first = rng.choice((other.start - count, other.stop - 1)) + rng.randrange(2)
    first = min(max(first, 0), limit - count)
    return range(first, first + count)


def apart(rng: random.Random, limit: int, others: Sequence[range]) -> range | None:
    """One that meets no other; None if that was not found."""
    for _ in range(8):
        found = random_range(rng, limit)
        if not any(found.start < other.stop and other.start < found.stop for other in others):
            return found
    return None


def meet(one: range | None, other: range | None) -> bool:
    """Whether two ranges share a number, found out number by number."""
    return one is not None and other is not None and not set(one).isdisjoint(other)


def waited_for(under_way: list[UnderWay], command: UnderWay) -> list[tuple[UnderWay, bool]]:
    """The commands whose registers a new one must wait for, and whether until they end or have fetched."""
    found = []
    for other in under_way:
        foreign = other.unit is not command.unit
        written = [*command.reads, *([command.write] if foreign else [])]
        if any(meet(other.write, operand) for operand in written):
            found.append((other, True))
        if foreign and any(meet(read, command.write) for read in other.reads):
            found.append((other, False))
    return found


def waited_for_blocks(under_way: list[UnderWay], command: UnderWay) -> list[UnderWay]:
    """The stores whose blocks a load meets, or the loads whose blocks a store meets."""
    against = {Unit.LOAD: Unit.STORE, Unit.STORE: Unit.LOAD}.get(command.unit)
    return [other for other in under_way if other.unit is against and meet(other.span, command.span)]


def range_bits(rng: random.Random, operand: range | None) -> dict[str, int]:
    """What is not valid has any bounds."""
    if operand is None:
        return {"valid": 0, "first": rng.randrange(256), "last": rng.randrange(256)}
    return {"valid": 1, "first": operand.start, "last": operand.stop - 1}


def offer(dut: Any, rng: random.Random, command: UnderWay) -> tuple[dict[str, int], ...]:
    """Put a new command on the ports; its operands, of which two are compared in each cycle."""
    dut.unit.value = command.unit.value
    reads = [range_bits(rng, operand) for operand in (*command.reads, None, None, None)][:3]
    write = range_bits(rng, command.write)
    dut.footprint.value = FOOTPRINT.pack({"reads": reads, "write": write})
    span = {"first": command.span.start, "last": command.span.stop - 1}
    dut.span.value = SPAN.pack(span)
    dut.tag.value = command.tag
    return *reads, write


@cocotb.test
async def random_commands(dut: Any) -> None:
    """Every answer in every cycle, while commands of all units start, fetch and end at random.

    A command stays between its first cycle and its allocation while others end; now and then it is withdrawn,
    or all slots are cleared.
    """
    rng = random.Random(cocotb.RANDOM_SEED)
    for name in ("allocate", "second", "fetched", "done", "clear"):
        getattr(dut, name).value = 0
    await start(dut)
    under_way: list[UnderWay] = []
    registers: list[tuple[UnderWay, bool]] = []
    spans: list[UnderWay] = []
    answers = {"conflict": [0, 0], "span_conflict": [0, 0], "full": [0, 0]}
    tag = 0
    command, second = random_command(rng, tag), False
    operands = offer(dut, rng, command)
    for _ in range(30_000):
        full = sum(other.unit is command.unit for other in under_way) == SLOTS[command.unit]
        allocate = second and not full and rng.random() < 0.4
        clear = rng.random() < 0.005
        dut.second.value = second
        dut.compared.value = COMPARED_OPERANDS.pack(operands[2:] if second else operands[:2])
        dut.allocate.value = allocate
        dut.clear.value = clear
        fetching = [first(under_way, unit, fetched=False) for unit in COMMON_UNITS if rng.random() < 0.1]
        ending = [first(under_way, unit, fetched=True) for unit in COMMON_UNITS if rng.random() < 0.08]
        # A load reads no registers: that it had done so would change nothing.
        ignored = rng.randrange(2) << Unit.LOAD.value
        dut.fetched.value = ignored | sum(1 << other.unit.value for other in fetching if other)
        dut.done.value = sum(1 << other.unit.value for other in ending if other)
        await ReadOnly()
        expected = {
            "conflict": any(
                other in under_way and (until_done or not other.fetched) for other, until_done in registers
            ),
            "span_conflict": any(other in under_way for other in spans),
            "full": full,
        }
        for name, answer in expected.items():
            assert bool(getattr(dut, name).value) == answer, (name, answer, command, under_way)
            answers[name][answer] += 1
        for unit, port in ((Unit.LOAD, dut.load_tag), (Unit.STORE, dut.store_tag)):
            oldest = next((other for other in under_way if other.unit is unit), None)
            assert oldest is None or int(port.value) == oldest.tag
        await RisingEdge(dut.aclk)
        if allocate:
            registers, spans = waited_for(under_way, command), waited_for_blocks(under_way, command)
        for other in fetching:
            if other:
                other.fetched = True
        under_way = [] if clear else [other for other in under_way if other not in ending]
        if allocate and not clear:
            under_way.append(command)
        if allocate or clear or rng.random() < 0.05:
            tag = (tag + 1) % (1 << TAG_BITS)
            command, second = random_command(rng, tag, under_way), False
            operands = offer(dut, rng, command)
        else:
            second = second or rng.random() < 0.9
    assert all(min(counts) > 100 for counts in answers.values()), answers


def first(under_way: list[UnderWay], unit: Unit, *, fetched: bool) -> UnderWay | None:
    """The unit's oldest command, if it has fetched or not as asked; or its oldest that has not fetched."""
    mine = [command for command in under_way if command.unit is unit]
    if fetched:
        return mine[0] if mine and mine[0].fetched else None
    return next((command for command in mine if not command.fetched), None)


def test_scoreboard(simulate: Simulate) -> None:
    simulate(unit_design("scoreboard", Scoreboard(CONFIG)), __name__)
