"""The load/store unit between a bus memory and a register file, against the golden machine."""

import random
from dataclasses import dataclass, replace
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiResp

from cocotb_tests.axi_checker import AxiChecker
from cocotb_tests.axi_memory import BusMemory
from cocotb_tests.configurations import ALL_FORMATS
from cocotb_tests.conftest import Simulate
from cocotb_tests.register_model import RegisterModel
from cocotb_tests.streams import StreamSource, start
from cocotb_tests.unit import unit_design
from golden.commands import Load, Store
from golden.faults import Cause, Fault
from golden.formats import FORMATS
from golden.instruction_set import LoadInstruction, Shape, StoreInstruction
from golden.layouts import LANES, fragment
from golden.lines import gather_lines
from golden.memory import Memory
from golden.warp import GoldenMachine
from hdl.memory.geometry import fragment_geometry, legal_fragments
from hdl.memory.load_store import LoadStoreRequest, LoadStoreUnit

CONFIG = replace(ALL_FORMATS, address_bits=24, outstanding_reads=3)
FRAGMENTS = list(legal_fragments(CONFIG))
SQUARE = Shape(16, 16, 16)
BASE = 0x10000
SIZE = 0x4000


@dataclass
class Bench:
    """The unit, its surroundings, and a golden machine that is given the same work."""

    dut: Any
    rng: random.Random
    request: StreamSource
    registers: RegisterModel
    bus: BusMemory
    checker: AxiChecker
    golden: GoldenMachine

    async def run(self, command: Load | Store) -> Cause | None:
        """Run a request to its end; returns the cause it reported."""
        instruction = command.instruction
        fields = {
            "geometry": fragment_geometry(
                instruction.use, instruction.type, instruction.shape, instruction.layout
            ),
            "store": isinstance(command, Store),
            "register": command.register,
            "address": command.address,
            "has_stride": command.stride is not None,
            "stride": command.stride or 0,
        }
        self.request.put(LoadStoreRequest.const(fields).as_bits())
        for _ in range(5000):
            await RisingEdge(self.dut.aclk)
            if self.dut.done.value:
                cause = int(self.dut.cause.value)
                self.checker.assert_quiet()
                return Cause(cause) if cause else None
        raise AssertionError(f"no end of {command}")

    async def compare(self, command: Load | Store) -> Cause | None:
        """Run on both; what each says, its registers and its memory must be the same."""
        try:
            self.golden.execute(command)
            expected = None
        except Fault as fault:
            expected = fault.cause
        assert await self.run(command) == expected, command
        self.compare_state(command)
        return expected

    def compare_state(self, command: object) -> None:
        """Compare registers and memory."""
        differences = np.argwhere(self.registers.values != self.golden.read_registers())
        assert not len(differences), f"{command}: register, lane {differences[:4].tolist()}"
        places = np.flatnonzero(self.bus.memory.data != self.golden.memory.data)
        assert not len(places), f"{command}: memory at {[hex(BASE + int(place)) for place in places[:4]]}"

    def set_register(self, register: int, values: np.ndarray[Any, Any]) -> None:
        """Set registers on both."""
        self.golden.write_registers(register, values)
        self.registers.values[register : register + len(values)] = values


async def bench(dut: Any, pause: float = 0.2) -> Bench:
    rng = random.Random(cocotb.RANDOM_SEED)
    bits = np.random.default_rng(cocotb.RANDOM_SEED)
    memory, golden_memory = Memory(SIZE, BASE), Memory(SIZE, BASE)
    memory.data[:] = golden_memory.data[:] = bits.integers(0, 256, SIZE, dtype=np.uint8)
    bus = BusMemory(dut, memory)
    bus.pause(rng, pause)
    golden = GoldenMachine(
        registers=CONFIG.registers,
        memory=golden_memory,
        address_bits=CONFIG.address_bits,
        formats=CONFIG.formats,
    )
    made = Bench(
        dut,
        rng,
        StreamSource(dut, "request"),
        RegisterModel(dut, CONFIG.registers),
        bus,
        AxiChecker(dut, CONFIG.outstanding_reads),
        golden,
    )
    made.set_register(0, bits.integers(0, 1 << 32, (CONFIG.registers, LANES), dtype=np.uint32))
    await start(dut)
    return made


def command_of(row: tuple[Any, ...], register: int, address: int, stride: int | None) -> Load | Store:
    use, name, shape, layout = row
    if use == "d":
        return Store(StoreInstruction(layout=layout, shape=shape, type=name), register, address, stride)
    return Load(LoadInstruction(use=use, layout=layout, shape=shape, type=name), register, address, stride)


def shortest_stride(row: tuple[Any, ...]) -> int | None:
    """None where the default stride keeps lines aligned; some fragments of eight rows need a longer one."""
    use, name, shape, layout = row
    step = fragment(use, name, shape).size * 8 // FORMATS[name].bits
    least = shape.default_stride(use, layout)
    return None if least % step == 0 else -(-least // step) * step


def random_command(rng: random.Random, row: tuple[Any, ...]) -> Load | Store:
    """A legal access within memory: odd registers, default and long strides, often over a page's end."""
    use, name, shape, layout = row
    form = fragment(use, name, shape)
    least = shape.default_stride(use, layout)
    shortest = shortest_stride(row)
    step = form.size * 8 // FORMATS[name].bits
    stride = rng.choice([shortest, *((shortest or least) + step * extra for extra in range(6))])
    if stride is None:
        stride = rng.choice([None, least])
    span = (max(shape.extent(use)) * (stride or least) * FORMATS[name].bits) // 8
    places = (SIZE - span) // form.size
    address = BASE + form.size * rng.randrange(places)
    if rng.random() < 0.5:
        address = BASE + 0x1000 - form.size * rng.randrange(1, 9)
    return command_of(row, rng.randrange(CONFIG.registers - form.registers + 1), address, stride)


@cocotb.test
async def every_fragment(dut: Any) -> None:
    """Every legal fragment, loaded and stored at random places with random strides and waits."""
    made = await bench(dut)
    order = FRAGMENTS * 3
    made.rng.shuffle(order)
    for row in order:
        assert await made.compare(random_command(made.rng, row)) is None
    crossed = [burst for burst in made.checker.read_bursts if burst[0] % 4096 == 0]
    assert crossed, "a line is to be split at the end of a page"


@cocotb.test
async def refusals(dut: Any) -> None:
    """What breaks a rule is refused before the bus or a register is touched; the smallest cause wins."""
    made = await bench(dut)
    seen = set()
    for row in FRAGMENTS:
        use, name, shape, layout = row
        form = fragment(use, name, shape)
        least = shape.default_stride(use, layout)
        unaligned = form.size * 8 // FORMATS[name].bits // 2
        limit = 1 << CONFIG.address_bits
        shortest = shortest_stride(row)
        room = last_address(row)
        cases: list[tuple[int, int | None, Cause | None]] = [
            *(
                (BASE + offset, None, Cause.MISALIGNED_ADDRESS)
                for offset in (1, form.size // 2, form.size - 1)
            ),
            (BASE, least - 1, Cause.SHORT_STRIDE),
            (BASE, 0, Cause.SHORT_STRIDE),
            (BASE + form.size // 2, 0, Cause.MISALIGNED_ADDRESS),
            (BASE, 1 << 28, Cause.ADDRESS_RANGE),
            (BASE, 0xFFFF_FF00, Cause.ADDRESS_RANGE),
            (limit, shortest, Cause.ADDRESS_RANGE),
            (room + form.size, shortest, Cause.ADDRESS_RANGE),
            (1 << 63, shortest, Cause.ADDRESS_RANGE),
            (2**64 - form.size, shortest, Cause.ADDRESS_RANGE),
            (2**64 - form.size, 1, Cause.SHORT_STRIDE),
        ]
        if unaligned:
            cases.append((BASE, (shortest or least) + unaligned, Cause.MISALIGNED_STRIDE))
        if shortest is not None:
            cases.append((BASE, None, Cause.MISALIGNED_STRIDE))
        for address, stride, cause in cases:
            assert await made.compare(command_of(row, 8, address, stride)) == cause, (row, address, stride)
            seen.add(cause)
    assert not made.checker.read_bursts
    assert not made.checker.write_bursts
    assert made.registers.writes == 0
    assert len(seen) == 4
    assert await made.compare(random_command(made.rng, FRAGMENTS[0])) is None


def lines_of(row: tuple[Any, ...]) -> list[tuple[int, int]]:
    """Lines at the shortest stride."""
    return gather_lines(command_of(row, 0, BASE, None).instruction, BASE, shortest_stride(row))


def last_address(row: tuple[Any, ...]) -> int:
    """The last aligned address from which the whole access lies within the address space."""
    lines = lines_of(row)
    size = fragment(row[0], row[1], row[2]).size
    return ((1 << CONFIG.address_bits) - (lines[-1][0] + lines[-1][1] - BASE)) // size * size


@cocotb.test
async def the_last_byte_of_the_address_space(dut: Any) -> None:
    """An access that ends with the last address is legal: it reaches the bus, where nothing lives."""
    made = await bench(dut)
    for row in FRAGMENTS:
        command = command_of(row, 3, last_address(row), shortest_stride(row))
        expected = Cause.WRITE_DECODE_ERROR if isinstance(command, Store) else Cause.READ_DECODE_ERROR
        assert await made.compare(command) == expected


@cocotb.test
async def read_errors(dut: Any) -> None:
    """One bad beat anywhere in a load: its cause, untouched registers, and the next load is right."""
    made = await bench(dut)
    for row in [row for row in FRAGMENTS if row[0] != "d"]:
        for response, cause in (
            (AxiResp.SLVERR, Cause.READ_SLAVE_ERROR),
            (AxiResp.DECERR, Cause.READ_DECODE_ERROR),
        ):
            command = random_command(made.rng, row)
            beats = beats_of(command)
            bad = made.rng.choice([beats[0], beats[-1], made.rng.choice(beats)])
            made.bus.faults = {bad: response}
            assert await made.run(command) == cause, (command, hex(bad))
            made.compare_state(command)
            made.bus.faults = {}
            assert await made.compare(random_command(made.rng, made.rng.choice(FRAGMENTS))) is None


@cocotb.test
async def the_first_read_error_counts(dut: Any) -> None:
    """Of several bad beats, the first in memory order gives the cause."""
    made = await bench(dut)
    row = ("c", "f32", SQUARE, "row")
    for first, second, cause in (
        (AxiResp.SLVERR, AxiResp.DECERR, Cause.READ_SLAVE_ERROR),
        (AxiResp.DECERR, AxiResp.SLVERR, Cause.READ_DECODE_ERROR),
    ):
        command = random_command(made.rng, row)
        early, late = sorted(made.rng.sample(range(64), 2))
        beats = beats_of(command)
        made.bus.faults = {beats[early]: first, beats[late]: second}
        assert await made.run(command) == cause
        made.compare_state(command)


@cocotb.test
async def write_errors(dut: Any) -> None:
    """A bad beat of a store: its cause, all other beats written, the bursts before it counted."""
    made = await bench(dut)
    for row in [row for row in FRAGMENTS if row[0] == "d"]:
        for response, cause in (
            (AxiResp.SLVERR, Cause.WRITE_SLAVE_ERROR),
            (AxiResp.DECERR, Cause.WRITE_DECODE_ERROR),
        ):
            command = random_command(made.rng, row)
            beats = beats_of(command)
            bad = made.rng.choice([beats[0], beats[-1], made.rng.choice(beats)])
            kept = made.bus.memory.data[bad - BASE : bad - BASE + 16].copy()
            made.bus.faults = {bad: response}
            made.checker.write_bursts.clear()
            assert await made.run(command) == cause, (command, hex(bad))
            made.golden.execute(command)
            made.golden.memory.data[bad - BASE : bad - BASE + 16] = kept
            made.compare_state(command)
            before = [
                burst for burst in made.checker.write_bursts if not burst[0] <= bad < burst[0] + 16 * burst[1]
            ]
            # Where a line may begin within a beat, two lines may share the bad one.
            assert 1 <= len(made.checker.write_bursts) - len(before) <= 2
            index = next(
                at
                for at, (address, count) in enumerate(made.checker.write_bursts)
                if address <= bad < address + 16 * count
            )
            assert int(dut.progress.value) == index
            made.bus.faults = {}
            assert await made.compare(random_command(made.rng, made.rng.choice(FRAGMENTS))) is None


@cocotb.test
async def half_in_memory(dut: Any) -> None:
    """Accesses over the end of memory: a load changes nothing, a store writes the beats that exist."""
    made = await bench(dut)
    for row in FRAGMENTS:
        lines = lines_of(row)
        span = lines[-1][0] + lines[-1][1] - BASE
        form = fragment(row[0], row[1], row[2])
        address = BASE + SIZE - span // 2 // form.size * form.size
        command = command_of(row, made.rng.randrange(40), address, shortest_stride(row))
        expected = Cause.WRITE_DECODE_ERROR if isinstance(command, Store) else Cause.READ_DECODE_ERROR
        assert await made.compare(command) == expected


@cocotb.test
async def cycles_without_waits(dut: Any) -> None:
    """A load of 32 chunks into 64 words keeps both the bus and the registers busy in every cycle."""
    made = await bench(dut, 0)
    command = command_of(("a", "f16", SQUARE, "row"), 0, BASE, None)
    first = last = 0
    cycle = 0

    async def watch() -> None:
        nonlocal first, last, cycle
        while True:
            await RisingEdge(dut.aclk)
            cycle += 1
            if dut.write_enable.value:
                first = first or cycle
                last = cycle

    watcher = cocotb.start_soon(watch())
    assert await made.compare(command) is None
    watcher.cancel()
    assert last - first == 63, (first, last)


def beats_of(command: Load | Store) -> list[int]:
    """Addresses of the beats in memory order."""
    return [
        beat
        for address, count in gather_lines(command.instruction, command.address, command.stride)
        for beat in range(address // 16 * 16, address + count, 16)
    ]


def test_load_store(simulate: Simulate) -> None:
    simulate(unit_design("load_store", LoadStoreUnit(CONFIG), CONFIG), __name__)
