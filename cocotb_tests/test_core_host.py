"""The whole core as the host sees it: its queue, its window on the registers, counters and interrupt."""

from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiResp

from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.core_bench import SCRATCH, start_bench
from cocotb_tests.core_commands import SHAPES, TYPES, multiply_of, random_load
from cocotb_tests.core_design import core_design
from cocotb_tests.streams import pause_channels
from golden.tables.commands import Command, Fill, Mma, Store
from golden.tables.faults import Cause
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import StoreInstruction
from hdl.command import encode
from hdl.control.host.register_map import lane_address


@cocotb.test
async def full_queue(dut: Any) -> None:
    """A command pushed into a full queue is refused, and it alone is missing afterwards."""
    made = await start_bench(dut, 0)
    depth = made.config.queue_depth
    made.bus.pause(made.rng, 0.97)
    slow = random_load(made)
    accepted: list[Command] = [slow]
    await made.push(slow)
    await made.cycles(20)
    refused = 0
    for number in range(depth + 6):
        command = Fill(slow.register + number % 8, 1, made.rng.getrandbits(32))
        if await made.host.push(encode(command)) == AxiResp.OKAY:
            accepted.append(command)
        else:
            refused += 1
            assert await made.host.get("STATUS") >> 8 == 0
    assert refused == 3
    assert len(accepted) == depth + 4, "one in each stage of the sequencer waits for the load's registers"
    made.bus.pause(made.rng, 0)
    assert await made.wait() is None
    for command in accepted:
        made.golden.execute(command)
    await made.compare_counters()
    await made.compare()


@cocotb.test
async def window(dut: Any) -> None:
    """The host sees and sets every lane while the core is idle, and is refused while it works."""
    made = await start_bench(dut, 0)
    rng = made.rng
    registers = made.config.registers
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
async def many_accesses_at_once(dut: Any) -> None:
    """Writes of words and of bytes, and reads, are offered at once, and answers taken late: none is lost."""
    made = await start_bench(dut, 0)
    rng, master = made.rng, made.host.master
    values = made.golden.read_registers()
    lanes = [(register, lane) for register in range(made.config.registers) for lane in range(LANES)]
    for share in (0.0, 0.5, 0.9):
        pause_channels((master.read_if.r_channel, master.write_if.b_channel), rng, share)
        places = rng.sample(lanes, 180)
        written, read, both = places[:60], places[60:120], places[30:90]
        sizes = rng.choices([4, 4, 4, 1, 2, 3], k=len(written))
        writes = []
        for (register, lane), size in zip(written, sizes, strict=True):
            value = rng.getrandbits(8 * size).to_bytes(size, "little")
            place = lane_address(register, lane) + rng.randrange(5 - size)
            writes.append(cocotb.start_soon(master.write(place, value)))
            if size == 4:
                values[register, lane] = int.from_bytes(value, "little")
        reads = [cocotb.start_soon(made.host.read_lane(*place)) for place in read]
        for task, size in zip(writes, sizes, strict=True):
            assert (await task).resp == (AxiResp.OKAY if size == 4 else AxiResp.SLVERR), size
        reads += [cocotb.start_soon(made.host.read_lane(*place)) for place in both]
        assert [await task for task in reads] == [
            (int(values[place]), AxiResp.OKAY) for place in (*read, *both)
        ]
    made.golden.write_registers(0, values)
    await made.compare()


@cocotb.test
async def counters_and_interrupt(dut: Any) -> None:
    """Counts are exact, and the interrupt says what it is enabled to say."""
    made = await start_bench(dut)
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
    await made.push(Fill(made.config.registers - 1, 2, 0))
    assert await made.wait() == Cause.REGISTER_RANGE
    assert dut.irq.value
    await made.clear()
    assert not dut.irq.value
    await made.host.set("INTERRUPT_ENABLE", 0)


@pytest.mark.parametrize("preset", ["tiny", pytest.param("small", marks=SLOW)])
def test_core_host(simulate: Simulate, preset: str) -> None:
    simulate(core_design(preset), __name__, values={"preset": preset})
