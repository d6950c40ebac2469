"""The host interface: cocotbext-axi's AXI4-Lite master in front, the core's signals behind."""

import random
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from itertools import product
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiResp

from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.control.host_bench import (
    CLOCK_PS,
    CONFIGS,
    COUNT_FROM,
    COUNTERS,
    INCREMENTS,
    accepted,
    at_rest,
    configuration,
    host_design,
    host_of,
    read_by_hand,
)
from cocotb_tests.host_port import HostPort
from cocotb_tests.memory.shared_words import SharedWords
from cocotb_tests.register_ports import RegisterPorts
from cocotb_tests.streams import StreamMonitor, StreamSink, never, pause_channels, pauses, reset, start
from golden.tables.layouts import LANES
from hdl.command import COMMAND_WORDS
from hdl.control.host import IDENTITY, REGISTERS, SHARED_WINDOW, VERSION, WINDOW
from hdl.control.host.register_map import REGISTER_MAP

FORMAT_BITS = {"f16": 0, "bf16": 1, "tf32": 2, "i8": 3, "i4": 4, "b1": 5, "f64": 6, "fp8": 7}


@cocotb.test
async def constants(dut: Any) -> None:
    """What never changes, each value where it belongs."""
    host, _ = await host_of(dut)
    config = configuration()
    assert await host.get("IDENTITY") == IDENTITY == int.from_bytes(b"OWMM", "big")
    assert await host.get("VERSION") == VERSION == 0x500
    assert await host.get("FORMATS") == sum(1 << FORMAT_BITS[name] for name in config.formats)
    sizes = await host.get("CONFIGURATION")
    assert sizes & 0xFFFF == config.registers
    assert sizes >> 16 & 0xFF == config.dot_product_units
    assert sizes >> 24 == config.queue_depth - 1
    units = await host.get("UNITS")
    assert units & 0xFF == config.f64_units
    assert units >> 8 & 0xFF == config.word_quads
    assert units >> 16 == config.warps
    memory = await host.get("MEMORY")
    assert memory & 0xFF == config.address_bits
    assert (memory >> 8 & 0xFF) * 8 == config.data_bits
    assert memory >> 16 == config.outstanding_reads
    assert await host.get("SHARED_SIZE") == config.shared_bytes
    base = await host.get("SHARED_BASE") | await host.get("SHARED_BASE_HIGH") << 32
    assert base == (config.shared_base if config.shared_bytes else 0)
    codes = ["other", "hopper", "blackwell", "ada", "ampere", "turing", "volta"]
    assert await host.get("PROFILE") == codes.index(config.dot_product.profile.name)
    assert await host.get("CONTROL") == 0
    assert await host.get("MODE") == 0
    assert await host.get("STATUS") == config.queue_depth << 8


@cocotb.test
async def many_accesses_at_once(dut: Any) -> None:
    """Reads and writes are offered in the same cycles, while answers are hardly taken: none is lost."""
    host, rng = await host_of(dut, 0)
    read, write = host.master.read_if.r_channel, host.master.write_if.b_channel
    known = {"IDENTITY": IDENTITY, "VERSION": VERSION, "CONTROL": 0, "MODE": 0}
    for share in (0.0, 0.5, 0.9):
        pause_channels((read, write), rng, share)
        names = [rng.choice(list(known)) for _ in range(60)]
        reads = [cocotb.start_soon(host.get(name)) for name in names]
        writes = [cocotb.start_soon(host.set("MODE", 0)) for _ in range(40)]
        assert [await task for task in reads] == [known[name] for name in names]
        for task in writes:
            await task


@cocotb.test
async def every_address(dut: Any) -> None:
    """Addresses without a register, misaligned ones and partial writes are refused and change nothing."""
    host, rng = await host_of(dut, 0)
    config = configuration()
    registers = RegisterPorts(dut, config)
    shared = SharedWords(dut, config)
    readable = {item.offset for item in REGISTER_MAP.values() if item.readable and item.exists(config)}
    readable |= {REGISTERS[name] + 4 for name in COUNTERS}
    writable = {REGISTERS[name] for name in ("CONTROL", "INTERRUPT_ENABLE", "MODE", "WARP")}
    writable |= {REGISTERS["COMMAND"] + 4 * index for index in range(COMMAND_WORDS)}
    nowhere = (WINDOW, 2 * WINDOW, SHARED_WINDOW)
    for address in [
        *range(0, 0x200, 4),
        *(4 * rng.randrange(0x40, nowhere[0] // 4) for _ in range(40)),
        *(4 * rng.randrange(nowhere[1] // 4, nowhere[2] // 4) for _ in range(40)),
        *(0x10000 << bit for bit in range(2)),
        *(REGISTERS["MODE"] + (0x200 << bit) for bit in range(WINDOW.bit_length() - 10)),
        *(place + REGISTERS["IDENTITY"] for place in (WINDOW // 2, 2 * WINDOW)),
    ]:
        value, response = await host.read_word(address)
        assert (response == AxiResp.OKAY) == (address in readable), f"read {address:#x}"
        assert response in (AxiResp.OKAY, AxiResp.SLVERR)
        assert response == AxiResp.OKAY or not value, f"{value:#x} at {address:#x}"
        if address == REGISTERS["COMMAND"]:
            continue
        response = await host.write_word(address, 0)
        assert (response == AxiResp.OKAY) == (address in writable), f"write {address:#x}"
    for address in sorted(writable | {WINDOW, WINDOW + 4, SHARED_WINDOW, SHARED_WINDOW + 4}):
        for offset, count in ((0, 1), (0, 2), (1, 3), (3, 1)):
            answer = await host.master.write(address + offset, b"\xff" * count)
            assert answer.resp == AxiResp.SLVERR, f"{count} bytes at {address + offset:#x}"
    assert await host.get("INTERRUPT_ENABLE") == 0
    assert await host.get("MODE") == 0
    assert await host.get("STATUS") & 1 == 0
    assert registers.writes == shared.writes == 0


@cocotb.test
async def commands_pass_in_order(dut: Any) -> None:
    """The queue holds its depth and no more, and gives commands back in order, whole."""
    host, rng = await host_of(dut)
    depth = configuration().queue_depth
    for _ in range(3):
        pushed = []
        for place in range(depth):
            assert await host.get("STATUS") >> 8 == depth - place
            words = [rng.getrandbits(32) for _ in range(COMMAND_WORDS)]
            assert await host.push(words) == AxiResp.OKAY
            pushed.append(sum(word << 32 * index for index, word in enumerate(words)))
        assert await host.push([rng.getrandbits(32) for _ in range(COMMAND_WORDS)]) == AxiResp.SLVERR
        status = await host.get("STATUS")
        assert status >> 8 == 0
        assert status & 1
        sink = StreamSink(dut, "commands_0")
        assert await sink.take(depth) == pushed
        for _ in range(5):
            await RisingEdge(dut.aclk)
        assert not sink.received
        assert await host.get("STATUS") == depth << 8
        sink.stop()


@cocotb.test
async def words_stay(dut: Any) -> None:
    """Words 1 to 4 keep their values, so that a command may differ from the last one in word 0 alone."""
    host, rng = await host_of(dut)
    sink = StreamSink(dut, "commands_0")
    words = [rng.getrandbits(32) for _ in range(COMMAND_WORDS)]
    await host.push(words)
    words[0] ^= 0x1234
    await host.set("COMMAND", words[0])
    words[3] ^= 0xFFFF
    await host.write_word(REGISTERS["COMMAND"] + 12, words[3])
    await host.set("COMMAND", words[0])
    expected = sum(word << 32 * index for index, word in enumerate(words))
    taken = await sink.take(3)
    assert taken[2] == expected
    assert taken[1] == expected ^ 0xFFFF << 96
    assert taken[0] == taken[1] ^ 0x1234


@cocotb.test
async def faults_and_clear(dut: Any) -> None:
    """A fault shows with index and progress; what is queued stays until clear drops it, once."""
    host, rng = await host_of(dut)
    depth = configuration().queue_depth
    clears = 0

    async def count_clears() -> None:
        nonlocal clears
        while True:
            await RisingEdge(dut.aclk)
            clears += bool(dut.clear.value)
            if dut.clear.value:
                dut.cause.value = 0

    counting = cocotb.start_soon(count_clears())
    for round_number in range(1, 6):
        await host.push([rng.getrandbits(32) for _ in range(COMMAND_WORDS)])
        cause, index, progress = rng.randrange(1, 11), rng.getrandbits(32), rng.getrandbits(16)
        dut.cause.value, dut.executed.value, dut.progress.value = cause, index, progress
        await host.push([rng.getrandbits(32) for _ in range(COMMAND_WORDS)])
        status = await host.get("STATUS")
        assert status >> 1 & 1
        assert status >> 8 == depth - 2
        assert await host.get("FAULT_CAUSE") == cause
        assert await host.get("FAULT_INDEX") == index
        assert await host.get("FAULT_PROGRESS") == progress
        assert dut.commands_0_valid.value
        await host.set("CONTROL", 0)
        assert clears == round_number - 1
        await host.set("CONTROL", 1)
        assert clears == round_number
        assert await host.get("STATUS") == depth << 8
        assert not dut.commands_0_valid.value
    counting.cancel()


@cocotb.test
async def interrupt(dut: Any) -> None:
    """Raised while idle, while at fault, or not at all, as enabled."""
    host, _ = await host_of(dut)
    for enables in range(4):
        await host.set("INTERRUPT_ENABLE", enables)
        assert await host.get("INTERRUPT_ENABLE") == enables
        for busy in (0, 1):
            for cause in (0, 5):
                dut.busy.value, dut.cause.value = busy, cause
                await RisingEdge(dut.aclk)
                await RisingEdge(dut.aclk)
                expected = bool(enables & 1 and not busy) or bool(enables & 2 and cause)
                assert bool(dut.irq.value) == expected, (enables, busy, cause)
    dut.busy.value, dut.cause.value = 0, 0


@cocotb.test
async def counters(dut: Any) -> None:
    """Exact counts of what happened in each cycle; a low word read latches its high word."""
    host, rng = await host_of(dut)
    await host.set("CONTROL", 1)
    units = configuration().dot_product_units
    for idle in range(4):
        for _ in range(idle):
            await RisingEdge(dut.aclk)
        before = {name: await host.counter(name) for name in INCREMENTS}
        assert all(count == COUNT_FROM for count in before.values()), before
    expected = dict.fromkeys(INCREMENTS, 0)
    for _ in range(500):
        for name, port in INCREMENTS.items():
            count = rng.randrange(units + 1) if name == "DOT_PRODUCT_CYCLES" else rng.getrandbits(1)
            getattr(dut, port).value = count
            expected[name] += count
        await RisingEdge(dut.aclk)
    for port in INCREMENTS.values():
        getattr(dut, port).value = 0
    for name, count in expected.items():
        for idle in range(4):
            for _ in range(idle):
                await RisingEdge(dut.aclk)
            assert await host.counter(name) - before[name] == count, name
    dut.executed.value = 0x1234_5678_9ABC_DEF0
    await RisingEdge(dut.aclk)
    assert await host.get("INSTRUCTIONS") == 0x9ABC_DEF0
    dut.executed.value = 0xFFFF_FFFF_0000_0000
    high, _ = await host.read_word(REGISTERS["INSTRUCTIONS"] + 4)
    assert high == 0x1234_5678, "the high word is the one of the low word read before it"
    assert await host.counter("INSTRUCTIONS") == 0xFFFF_FFFF_0000_0000


@cocotb.test
async def long_counts(dut: Any) -> None:
    """Counters carry: thousands of everything that can happen in a cycle, from the first one after reset."""
    most = configuration().dot_product_units
    cycles = (1 << 12) + 3
    at_rest(dut)
    for name, port in INCREMENTS.items():
        getattr(dut, port).value = most if name == "DOT_PRODUCT_CYCLES" else 1
    await start(dut)  # and the first cycle
    await FallingEdge(dut.aclk)
    await Timer((cycles - 1) * CLOCK_PS, "ps")  # wakes nobody in between: the bus model comes afterwards
    for port in INCREMENTS.values():
        getattr(dut, port).value = 0
    host = HostPort(dut)
    await RisingEdge(dut.aclk)
    for name in INCREMENTS:
        expected = cycles * most if name == "DOT_PRODUCT_CYCLES" else cycles
        # Nothing pauses the host here, so these are odd and even cycles.
        for idle in range(4):
            for _ in range(idle):
                await RisingEdge(dut.aclk)
            assert await host.counter(name) == COUNT_FROM + expected, name


@cocotb.test
async def counters_read_while_they_count(dut: Any) -> None:
    """Between two reads, as many events as can happen in the cycles between them."""
    at_rest(dut)
    most = dict.fromkeys(INCREMENTS.values(), 1) | {"busy_units": configuration().dot_product_units}
    for port in INCREMENTS.values():
        getattr(dut, port).value = most[port]
    await start(dut)
    for _ in range(2 * len(INCREMENTS)):  # until all of them have begun
        await RisingEdge(dut.aclk)
    for name, port in INCREMENTS.items():
        starts = set()
        for idle in range(2, 20):
            for _ in range(idle):
                await RisingEdge(dut.aclk)
            cycle = round(get_sim_time("ps") / CLOCK_PS)
            response, low = await read_by_hand(dut, REGISTERS[name])
            assert response == AxiResp.OKAY
            starts.add((low - most[port] * cycle) % (1 << 32))
        assert len(starts) == 1, (name, starts)


@cocotb.test
async def counters_after_a_reset(dut: Any) -> None:
    """In the first cycles too, a counter has the value with which it begins, whatever it had before."""
    at_rest(dut)
    await start(dut)
    for name in INCREMENTS:
        await reset(dut)
        words = [await read_by_hand(dut, REGISTERS[name] + place) for place in (0, 4)]
        values = [COUNT_FROM & 0xFFFF_FFFF, COUNT_FROM >> 32]
        assert words == [(AxiResp.OKAY, value) for value in values], name


@cocotb.test
async def misaligned_accesses(dut: Any) -> None:
    """Refused everywhere, reads with zeros; so are writes of less than a word. The bus model has neither."""
    at_rest(dut)
    await start(dut)
    dut.s_axil_wdata.value, dut.s_axil_bready.value = 0xFFFF_FFFF, 1
    for place in (REGISTERS["IDENTITY"], REGISTERS["CYCLES"], REGISTERS["MODE"], WINDOW, SHARED_WINDOW):
        for offset in (1, 2, 3):
            answer = await read_by_hand(dut, place + offset)
            assert answer == (AxiResp.SLVERR, 0), f"{place + offset:#x}"
        for offset, strobes in (*product((1, 2, 3), (15,)), *product((0,), range(15))):
            dut.s_axil_awaddr.value, dut.s_axil_wstrb.value = place + offset, strobes
            await accepted(dut, "aw", "w")
            while not dut.s_axil_bvalid.value:
                assert not dut.write_enable.value
                await RisingEdge(dut.aclk)
            assert int(dut.s_axil_bresp.value) == AxiResp.SLVERR, f"{place + offset:#x}"
            await RisingEdge(dut.aclk)
    assert await read_by_hand(dut, REGISTERS["MODE"]) == (AxiResp.OKAY, 0)


@cocotb.test
async def window(dut: Any) -> None:
    """Each lane of each register in its place while idle; refused while busy and beyond the last register."""
    host, rng = await host_of(dut, 0.1)
    config = configuration()
    count = config.registers
    registers = RegisterPorts(dut, config)
    registers.values[:] = np.random.default_rng(cocotb.RANDOM_SEED).integers(
        0, 1 << 32, (count, LANES), dtype=np.uint32
    )
    expected = registers.values.copy()
    places = [(0, 0), (0, 31), (count - 1, 0), (count - 1, 31)]
    places += [(rng.randrange(count), rng.randrange(LANES)) for _ in range(100)]
    places += [(register, 7) for register in range(count)] + [(5, lane) for lane in range(LANES)]
    for register, lane in places:
        if rng.random() < 0.5:
            value = rng.getrandbits(32)
            assert await host.write_lane(register, lane, value) == AxiResp.OKAY
            expected[register, lane] = value
        assert await host.read_lane(register, lane) == (int(expected[register, lane]), AxiResp.OKAY)
    assert np.array_equal(registers.values, expected)

    if count < 256:
        for register in (count, 2 * count - 1, 255):
            assert (await host.read_lane(register, 0))[1] == AxiResp.SLVERR
            assert await host.write_lane(register, 0, 1) == AxiResp.SLVERR
    await refused_while_at_work(dut, host, lambda: host.read_lane(1, 1), lambda: host.write_lane(1, 1, 1))
    assert np.array_equal(registers.values, expected)
    assert await host.read_lane(1, 1) == (int(expected[1, 1]), AxiResp.OKAY)


@cocotb.test
async def shared_window(dut: Any) -> None:
    """Each word of the on-chip memory in its place while idle; refused while busy and past its end."""
    host, rng = await host_of(dut, 0.1)
    config = configuration()
    shared = SharedWords(dut, config, pauses(rng, 0.5))
    words = config.shared_bytes // 4
    window_words = (1 << 19) // 4 - SHARED_WINDOW // 4
    past = [words, words + 1, words | 1 << 15, window_words - 1]
    for word in [word for word in past if word < window_words]:
        if word >= words:
            assert (await host.read_shared(word))[1] == AxiResp.SLVERR, word
            assert await host.write_shared(word, 1) == AxiResp.SLVERR, word
    assert shared.reads == shared.writes == 0
    if not words:
        return
    places = [0, 1, 2, 3, words - 1, *(1 << bit for bit in range(2, words.bit_length() - 1))]
    places += [rng.randrange(words) for _ in range(100)]
    for word in places:
        if rng.random() < 0.5:
            value = rng.getrandbits(32)
            assert await host.write_shared(word, value) == AxiResp.OKAY
            assert shared.values[word] == value, word
        assert await host.read_shared(word) == (shared.values[word], AxiResp.OKAY), word
    before = list(shared.values)
    await refused_while_at_work(dut, host, lambda: host.read_shared(1), lambda: host.write_shared(1, 1))
    assert shared.values == before
    assert await host.read_shared(1) == (before[1], AxiResp.OKAY)


async def refused_while_at_work(
    dut: Any,
    host: HostPort,
    read: Callable[[], Awaitable[tuple[int, AxiResp]]],
    write: Callable[[], Coroutine[Any, Any, AxiResp]],
) -> None:
    """Try an access while a command is in progress and while one waits; leave the core idle."""
    dut.busy.value = 1
    await RisingEdge(dut.aclk)
    assert (await read())[1] == AxiResp.SLVERR
    assert await write() == AxiResp.SLVERR
    dut.busy.value = 0
    await host.push([0] * COMMAND_WORDS)
    assert (await read())[1] == AxiResp.SLVERR, "a queued command is about to run"
    assert await write() == AxiResp.SLVERR
    for _ in range(8):
        await host.set("CONTROL", 1)
        pushed, written = map(cocotb.start_soon, (host.write_word(REGISTERS["COMMAND"], 0), write()))
        assert await pushed == AxiResp.OKAY
        assert await written == AxiResp.SLVERR, "a command was queued in the cycle before"
    dut.cause.value = 3
    assert (await read())[1] == AxiResp.OKAY, "at a fault the host may look"
    dut.cause.value = 0
    await host.set("CONTROL", 1)


@cocotb.test
async def mode(dut: Any) -> None:
    """Serial or not, as was written while idle; not to be changed while a command runs or waits."""
    host, _ = await host_of(dut)
    for value in (1, 0, 1):
        await host.set("MODE", value)
        assert await host.get("MODE") == value == int(dut.serial.value)
    dut.busy.value = 1
    await RisingEdge(dut.aclk)
    assert await host.write_word(REGISTERS["MODE"], 0) == AxiResp.SLVERR
    dut.busy.value = 0
    await host.push([0] * COMMAND_WORDS)
    assert await host.write_word(REGISTERS["MODE"], 0) == AxiResp.SLVERR
    assert await host.get("MODE") == 1 == int(dut.serial.value)
    await host.set("CONTROL", 1)
    await host.set("MODE", 0)
    assert not dut.serial.value


@cocotb.test
async def idle_shows_no_gap(dut: Any) -> None:
    """From the cycle after a command is written until it is taken the core is not idle."""
    host, _ = await host_of(dut, 0)
    await host.set("INTERRUPT_ENABLE", 1)
    assert dut.irq.value
    answered = 0

    async def watch() -> None:
        """The command's own answer finds the core at work."""
        nonlocal answered
        command = False
        while True:
            await RisingEdge(dut.aclk)
            if dut.s_axil_awvalid.value and dut.s_axil_awready.value:
                command = int(dut.s_axil_awaddr.value) == REGISTERS["COMMAND"]
            elif command and dut.s_axil_bvalid.value:
                answered += 1
                assert not dut.irq.value

    watching = cocotb.start_soon(watch())
    for _ in range(5):
        assert await host.push([1] * COMMAND_WORDS) == AxiResp.OKAY
        for _ in range(10):
            assert not dut.irq.value
            await RisingEdge(dut.aclk)
        await host.set("CONTROL", 1)
        assert dut.irq.value
    assert answered >= 5
    watching.cancel()


@cocotb.test
async def answers_in_time(dut: Any) -> None:
    """Cycles from address to answer: two of a write, four of a read."""
    host, rng = await host_of(dut, 0)
    config = configuration()
    RegisterPorts(dut, config)
    SharedWords(dut, config)
    asked = answered = now = 0

    async def watch() -> None:
        nonlocal asked, answered, now
        while True:
            await RisingEdge(dut.aclk)
            now += 1
            write = dut.s_axil_awvalid.value and dut.s_axil_awready.value and dut.s_axil_wvalid.value
            if write or (dut.s_axil_arvalid.value and dut.s_axil_arready.value):
                asked, answered = now, 0
            elif not answered and (dut.s_axil_bvalid.value or dut.s_axil_rvalid.value):
                answered = now

    watching = cocotb.start_soon(watch())
    addresses = [REGISTERS["MODE"], WINDOW + 128]
    if config.shared_bytes:
        addresses.append(SHARED_WINDOW + 4 * rng.randrange(config.shared_bytes // 4))
    for address in addresses:
        assert await host.write_word(address, 1) == AxiResp.OKAY
        assert answered - asked == 2, hex(address)
        await host.read_word(address)
        assert answered - asked == 5, hex(address)
    watching.cancel()


@cocotb.test
async def an_access_per_cycle(dut: Any) -> None:
    """Writes of the window back to back, then reads, each answered in order at one per cycle."""
    at_rest(dut)
    await start(dut)
    registers = RegisterPorts(dut, configuration())
    values = [7 * place + 1 for place in range(3 * LANES)]
    accesses = [(WINDOW + 4 * place, value, 15) for place, value in enumerate(values)]
    for answer in "br":
        answers = await offered_per_cycle(dut, answer, accesses, never())
        assert answers[-1][0] - answers[0][0] == len(accesses) - 1, "one per cycle"
        assert all(response == AxiResp.OKAY for _, response, _ in answers)
    assert [data for *_, data in answers] == values == registers.values[:3].flatten().tolist()


@cocotb.test
async def accesses_behind_a_stall(dut: Any) -> None:
    """Accesses in each cycle while answers are hardly taken: each keeps its address, value and strobes."""
    rng = random.Random(cocotb.RANDOM_SEED)
    at_rest(dut)
    await start(dut)
    config = configuration()
    registers, shared = RegisterPorts(dut, config), SharedWords(dut, config, pauses(rng, 0.3))
    lanes = [WINDOW + 4 * place for place in range(registers.values.size)]
    words = [SHARED_WINDOW + 4 * place for place in range(len(shared.values))]
    for _ in range(4):
        places = rng.sample(lanes, 60) + rng.sample(words, min(30, len(words)))
        rng.shuffle(places)
        accesses = [
            (rng.choice([place] * 4 + [REGISTERS["IDENTITY"]]), rng.getrandbits(32), strobes)
            for place, strobes in zip(places, rng.choices([15, 15, 15, 7, 14], k=len(places)), strict=True)
        ]
        expected = dict(zip(lanes, registers.values.flatten().tolist(), strict=True))
        expected |= dict(zip(words, shared.values, strict=True))
        responses = []
        for address, value, strobes in accesses:
            is_legal = address in expected and strobes == 15
            responses.append(AxiResp.OKAY if is_legal else AxiResp.SLVERR)
            if is_legal:
                expected[address] = value
        answers = await offered_per_cycle(dut, "b", accesses, pauses(rng, 0.7))
        assert [response for _, response, _ in answers] == responses
        assert [*registers.values.flatten().tolist(), *shared.values] == list(expected.values())
        before = registers.reads, shared.reads
        answers = await offered_per_cycle(dut, "r", accesses, pauses(rng, 0.7))
        assert [data for *_, data in answers] == [expected.get(address, IDENTITY) for address, *_ in accesses]
        asked = [address for address, *_ in accesses]
        assert registers.reads - before[0] == sum(WINDOW <= address < SHARED_WINDOW for address in asked)
        assert shared.reads - before[1] == sum(address >= SHARED_WINDOW for address in asked)


async def offered_per_cycle(
    dut: Any, answer: str, accesses: list[tuple[int, int, int]], waits: Iterator[bool]
) -> list[tuple[int, int, int]]:
    """Offer address, value and strobes of writes in each cycle, or the addresses of reads.

    `waits` says when an answer is not taken. Returns cycle, response and data of the answers, which come on
    the channel `answer`.
    """
    channels = ("aw", "w") if answer == "b" else ("ar",)
    found: list[tuple[int, int, int]] = []
    sent = 0
    for cycle in range(16 * len(accesses)):
        for name in channels:
            getattr(dut, f"s_axil_{name}valid").value = sent < len(accesses)
        address, value, strobes = accesses[min(sent, len(accesses) - 1)]
        dut.s_axil_awaddr.value = dut.s_axil_araddr.value = address
        dut.s_axil_wdata.value, dut.s_axil_wstrb.value = value, strobes
        getattr(dut, f"s_axil_{answer}ready").value = takes = not next(waits)
        await RisingEdge(dut.aclk)
        sent += sent < len(accesses) and bool(getattr(dut, f"s_axil_{channels[0]}ready").value)
        if takes and getattr(dut, f"s_axil_{answer}valid").value:
            data = int(dut.s_axil_rdata.value) if answer == "r" else 0
            found.append((cycle, int(getattr(dut, f"s_axil_{answer}resp").value), data))
        if len(found) == len(accesses):
            break
    assert len(found) == len(accesses)
    return found


@cocotb.test
async def commands_stay_offered(dut: Any) -> None:
    """A command is offered until it is taken, through faults, and only clear takes it back, in one cycle."""
    host, rng = await host_of(dut)
    monitor = StreamMonitor(dut, "commands_0")
    taken = []
    for _ in range(20):
        words = [rng.getrandbits(32) for _ in range(COMMAND_WORDS)]
        assert await host.push(words) == AxiResp.OKAY
        for _ in range(rng.randrange(10)):
            dut.cause.value = rng.choice([0, 0, 4])
            dut.busy.value = rng.getrandbits(1)
            await RisingEdge(dut.aclk)
        dut.commands_0_ready.value = 1
        taken.append(sum(word << 32 * index for index, word in enumerate(words)))
        while len(monitor.received) < len(taken):
            await RisingEdge(dut.aclk)
        dut.commands_0_ready.value = 0
        await RisingEdge(dut.aclk)
    assert monitor.received == taken


@cocotb.test
async def reset_at_work(dut: Any) -> None:
    """A reset in the middle of an access and with commands queued leaves the interface as new."""
    host, rng = await host_of(dut)
    config = configuration()
    registers = RegisterPorts(dut, config)
    for _ in range(10):
        await host.set("MODE", 1)
        await host.set("INTERRUPT_ENABLE", 3)
        accesses: list[Callable[[], Any]] = [
            lambda: host.read_lane(2, 3),
            lambda: host.write_lane(2, 3, 4),
            lambda: host.push([1] * COMMAND_WORDS),
        ]
        work = cocotb.start_soon(rng.choice(accesses)())
        for _ in range(rng.randrange(2, 30)):
            await RisingEdge(dut.aclk)
        work.cancel()
        await reset(dut, rng.randrange(2, 5))
        assert not dut.commands_0_valid.value
        assert not dut.serial.value
        assert not dut.irq.value
        await host.push([7] * COMMAND_WORDS)
        assert await host.get("STATUS") == (config.queue_depth - 1) << 8 | 1
        await host.set("CONTROL", 1)
        assert await host.get("INTERRUPT_ENABLE") == 0
        value = rng.getrandbits(32)
        assert await host.write_lane(1, 2, value) == AxiResp.OKAY
        assert registers.values[1, 2] == value


@pytest.mark.parametrize(
    "preset", [pytest.param(name, marks=() if name in ("tiny", "large") else SLOW) for name in CONFIGS]
)
def test_host(simulate: Simulate, preset: str) -> None:
    simulate(host_design(preset), __name__, values={"preset": preset})
