"""Side operands, metadata that chooses elements of B and block scales: read, checked, used row by row."""

import random
from collections import deque
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import cocotb
import numpy as np
import pytest
from amaranth.hdl import Cat, Module
from amaranth.lib.wiring import In, Out, connect, flipped
from cocotb.triggers import ClockCycles, RisingEdge
from numpy.typing import NDArray

from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.packing import Packing
from cocotb_tests.streams import start
from golden.block_scales import ScaleUse, unpack_scales
from golden.resolve import resolve_instruction
from golden.sparsity import pack_metadata, stored_places, unpack_metadata
from golden.tables.faults import Cause
from golden.tables.instruction_set import SCALE_VECS
from golden.tables.matrix_instructions import MmaInstruction
from golden.tables.profiles import PROFILES
from golden.tables.scales import BYTE_IDS, THREAD_IDS
from hdl.component import Component
from hdl.config import PRESETS, QUADS, CoreConfig
from hdl.multiply.tile.metadata import CODES_OF_WORD
from hdl.multiply.tile.rows import row_buffers, row_read_layout
from hdl.multiply.tile.side_operands import SideOperandReader, side_request
from hdl.multiply.tile.sparse import SparseSelection, selected_units, spread
from hdl.multiply.tile.tile_steps import Steps
from hdl.registers.register_ports import READ_LATENCY
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

FORMS = {
    "m16n8k16.row.col.f32.f16.f16.f32": (0, 0, 0),
    "m16n8k32.row.col.f32.bf16.bf16.f32": (1, 0, 0),
    "m16n8k8.row.col.f32.tf32.tf32.f32": (0, 0, 1),
    "m16n8k16.row.col.f32.tf32.tf32.f32": (1, 0, 1),
    "m16n8k32.row.col.s32.s8.u8.s32": (0, 1, 0),
    "m16n8k64.row.col.s32.u8.s8.s32": (1, 1, 0),
    "m16n8k64.row.col.s32.s4.s4.s32": (0, 1, 0),
    "m16n8k128.row.col.s32.u4.u4.s32": (1, 1, 0),
}
"""The instructions, and `halves`, `of_bytes` and `is_tf32` of their requests."""
INSTRUCTIONS = {resolve_instruction(f"mma.sp.sync.aligned.{form}"): fields for form, fields in FORMS.items()}

SCALED_FORMS = (
    "m16n8k{32}.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0",
    "m16n8k{64}.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
    "m16n8k{64}.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
)


def scaled_instruction(form: str, is_sparse: bool) -> MmaInstruction:
    """One of `SCALED_FORMS`, of which the sparse one has twice the k."""
    head, k, tail = form.replace("}", "{").split("{")
    sparse = "mma.sp::ordered_metadata" if is_sparse else "mma"
    return resolve_instruction(f"{sparse}.sync.aligned.{head}{int(k) << is_sparse}{tail}")


SCALED = {scaled_instruction(form, False): (0, 0, 0) for form in SCALED_FORMS}
SCALED |= {scaled_instruction(form, True): (1, 1, 0) for form in SCALED_FORMS}


def config_of(preset: str) -> CoreConfig:
    """A preset with sparse multiplies, or ``scales``, ``wide scales``: a core that has both kinds.

    The wide one has 16 units, so several rows of each multiplicand meet in a step.
    """
    if "scales" not in preset:
        return replace(PRESETS[preset], sparse=True)
    formats = frozenset({"f16", "fp8"})
    unit = replace(
        PRESETS["tiny"].dot_product, formats=formats, profile=PROFILES["blackwell"], block_scale=True
    )
    units = 16 if preset == "wide scales" else 1
    return replace(PRESETS["tiny"], dot_product=unit, dot_product_units=units, sparse=True, mxf4=True)


class ReaderWithRows(Component):
    """The reader, and the elements of a row of B that its codes choose, for each row of X in a step."""

    def __init__(self, config: CoreConfig) -> None:
        self._reader = SideOperandReader(config)
        self._rows = Steps(config).x_rows
        self._units = selected_units(config)
        self._members = dict(self._reader.signature.members)
        for name in ("low_codes", "high_codes"):
            del self._members[name]
        self._members["codes_enable"] = self._members.pop("read_enable")
        super().__init__({**self._members, "row": In(512), "chosen": Out(256 * self._rows)})

    def _logic(self, m: Module) -> None:
        m.submodules.reader = reader = self._reader
        connect(m, reader.read, flipped(self.read))
        for name, member in self._members.items():
            inner = getattr(reader, "read_enable" if name == "codes_enable" else name)
            if name != "read":
                outer = getattr(self, name)
                m.d.comb += inner.eq(outer) if member.flow == In else outer.eq(inner)
        words = [self.row.word_select(number, 128) for number in range(4)]
        halves = spread((words[0], words[1])), spread((words[2], words[3]))
        for number in range(self._rows):
            m.submodules[f"selection_{number}"] = selection = SparseSelection(self._units)
            m.d.comb += [
                selection.even.eq(Cat(even for even, _ in halves)),
                selection.odd.eq(Cat(odd for _, odd in halves)),
                selection.codes.eq(
                    Cat(
                        part.word_select(number, CODES_OF_WORD)
                        for part in (reader.low_codes, reader.high_codes)
                    )
                ),
                self.chosen.word_select(number, 256).eq(selection.chosen),
            ]


@dataclass
class Scales:
    """The register of block scales, and its selectors."""

    register: int
    byte: int
    thread: int
    words: NDArray[np.uint32]

    def rows(self, instruction: MmaInstruction, use: ScaleUse, groups: int) -> list[int]:
        """The scales of each row of A or column of B, each for one of so many groups."""
        found = unpack_scales(instruction, use, self.words, self.byte, self.thread)
        lines = np.repeat(found if use == "a" else found.T, groups // instruction.scales, axis=1)
        return [int.from_bytes(line.tobytes(), "little") for line in lines]


@dataclass
class Multiply:
    """A multiply, and the registers of its side operands."""

    instruction: MmaInstruction
    register: int
    selector: int
    words: NDArray[np.uint32]
    """The metadata."""
    scales: dict[ScaleUse, Scales] = field(default_factory=dict)

    @property
    def nibbles(self) -> NDArray[np.uint8]:
        """Of each group of each row."""
        return unpack_metadata(self.instruction, self.words, self.selector)

    @property
    def is_defined(self) -> bool:
        """Whether all of them are."""
        if not self.instruction.is_sparse:
            return True
        return bool(np.isin(self.nibbles, self.instruction.sparsity.nibbles).all())

    @property
    def registers(self) -> dict[int, NDArray[np.uint32]]:
        """The contents of what it reads."""
        found = {self.register: self.words} if self.instruction.is_sparse else {}
        return found | {item.register: item.words for item in self.scales.values()}


class Bench:
    """A register file that keeps the reader waiting, and multiplies that need side operands in order."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.draw = np.random.default_rng(cocotb.RANDOM_SEED)
        self.config = config_of(parameters()["preset"])
        self.request, self.asked = Packing(side_request(self.config)), Packing(row_read_layout(self.config))
        self.request_bits = side_request(self.config).size
        self.instructions = INSTRUCTIONS | (SCALED if self.config.scales else {})
        self.sparse = [item for item in self.instructions if item.is_sparse]
        self.registers: dict[int, NDArray[np.uint32]] = {}

    async def serve(self) -> None:
        """Answer reads of the register at hand, `READ_LATENCY` cycles later; noise at any other time."""
        dut, quads = self.dut, self.config.word_quads
        bits = 128 * quads
        answers: deque[int | None] = deque([None] * (READ_LATENCY - 1))
        while True:
            ready = self.rng.random() < 0.6
            dut.read_ready.value = ready
            await RisingEdge(dut.aclk)
            word = None
            if ready and dut.read_enable.value:
                address = int(dut.read_address.value)
                assert address // QUADS in self.registers, address
                assert address % quads == 0
                lanes = self.registers[address // QUADS][4 * (address % QUADS) :][: 4 * quads].tolist()
                word = sum(lane << 32 * place for place, lane in enumerate(lanes))
            answers.append(word)
            found = answers.popleft()
            dut.word.value = self.rng.getrandbits(bits) if found is None else found

    def multiply(self, is_defined: bool) -> Multiply:
        """Any form; metadata with one undefined nibble, or none; noise in lanes that are not chosen."""
        instruction = self.rng.choice(list(self.instructions))
        if not instruction.is_sparse:
            return self.multiply_of(instruction)
        sparsity = instruction.sparsity
        found = self.multiply_of(instruction, self.rng.choice(sparsity.selectors))
        if not is_defined:
            lane, nibble, *_ = self.rng.choice(list(sparsity.positions(found.selector)))
            undefined = self.rng.choice([value for value in range(16) if value not in sparsity.nibbles])
            found.words[lane] &= ~np.uint32(15 << 4 * nibble)
            found.words[lane] |= np.uint32(undefined << 4 * nibble)
        return found

    def multiply_of(self, instruction: MmaInstruction, selector: int = 0) -> Multiply:
        """Any metadata that is defined, and any scales."""
        registers = self.rng.sample(range(self.config.all_registers), 3)
        words = self.draw.integers(0, 1 << 32, 32, dtype=np.uint32)
        if instruction.is_sparse:
            sparsity = instruction.sparsity
            allowed = np.array(sparsity.nibbles, np.uint8)
            nibbles = self.draw.choice(allowed, (instruction.shape.m, sparsity.groups))
            words[list({lane for lane, *_ in sparsity.positions(selector)})] = 0
            words |= pack_metadata(instruction, nibbles, selector)
        found = Multiply(instruction, registers[0], selector, words)
        uses: tuple[ScaleUse, ...] = ("a", "b") if instruction.scales else ()
        for register, use in zip(registers[1:], uses, strict=False):
            byte = self.rng.choice(BYTE_IDS[instruction.scale_vec])
            any_words = self.draw.integers(0, 1 << 32, 32, dtype=np.uint32)
            found.scales[use] = Scales(register, byte, self.rng.choice(THREAD_IDS[use]), any_words)
        return found

    def fields(self, multiply: Multiply) -> dict[str, Any]:
        """The request; noise where nobody looks."""
        instruction = multiply.instruction
        halves, of_bytes, is_tf32 = self.instructions[instruction]
        found: dict[str, Any] = vars(self.request.unpack(self.rng.getrandbits(self.request_bits)))
        found["is_sparse"] = instruction.is_sparse
        if instruction.is_sparse:
            found["metadata"] = {"halves": halves, "of_bytes": of_bytes, "is_tf32": is_tf32}
            found["metadata"] |= {"register": multiply.register, "selector": multiply.selector}
        if self.config.scales:
            found["vec"] = 1 + SCALE_VECS.index(instruction.scale_vec) if instruction.scales else 0
        for use, scales in multiply.scales.items():
            names = "register", "byte", "thread"
            found[f"scale_{use}"] = {name: getattr(scales, name) for name in names}
        return found

    async def read(self, multiply: Multiply) -> None:
        """Have side operands read and checked; kept, if they are defined."""
        dut = self.dut
        self.registers = multiply.registers
        dut.request.value = self.request.pack(self.fields(multiply))
        assert dut.room.value
        dut.start.value = 1
        await RisingEdge(dut.aclk)
        dut.start.value = 0
        cycles = 0
        while not dut.done.value:
            await RisingEdge(dut.aclk)
            cycles += 1
            assert cycles < 200, "no end"
        for _ in range(self.rng.randrange(3)):
            await RisingEdge(dut.aclk)
        assert int(dut.cause.value) == (0 if multiply.is_defined else Cause.UNDEFINED_METADATA), multiply
        if multiply.is_defined:
            dut.keep.value = 1
            await RisingEdge(dut.aclk)
            dut.keep.value = 0

    async def chosen(self, row_of_x: int, second: int, row: int) -> int:
        """What the oldest multiply chooses of a row of B, for a row of A."""
        dut, steps = self.dut, Steps(self.config)
        block, within = divmod(row_of_x, QUADS)
        number, within = divmod(within, self.config.word_quads)
        part, index = divmod(within, steps.x_rows)
        dut.row.value = row
        await self.ask(second=second, x=self.x_of(part, number, block), y=self.rng.randrange(steps.y_parts))
        return int(dut.chosen.value) >> 256 * index & (1 << 256) - 1

    def x_of(self, part: int, number: int, block: int) -> int:
        """How a step names rows of X: part of a word, word of a register, block."""
        steps = Steps(self.config)
        return part | number << steps.x_part_bits | block << steps.x_part_bits + steps.word_number_bits

    async def ask(self, **fields: int) -> None:
        """Ask for the side operands of a step, and wait until they are there."""
        dut = self.dut
        dut.asked.value = self.asked.pack(fields)
        dut.codes_enable.value = 1
        await RisingEdge(dut.aclk)
        dut.codes_enable.value = 0
        dut.asked.value = self.rng.getrandbits(len(dut.asked))
        await RisingEdge(dut.aclk)

    async def use_scales(self, multiply: Multiply) -> None:
        """Compare the scales of all rows with those that golden unpacks; of `.1X` the lowest byte counts."""
        dut, steps, instruction = self.dut, Steps(self.config), multiply.instruction
        kept = 0xFF if instruction.scales == 1 else 0xFFFF_FFFF
        rows = {use: item.rows(instruction, use, 4) for use, item in multiply.scales.items()}
        places = product(range(2), range(steps.words_per_register), range(steps.x_parts))
        for turn, (block, number, part) in enumerate(places):
            y_part = turn % steps.y_parts
            await self.ask(x=self.x_of(part, number, block), y=y_part)
            first = 8 * block + number * self.config.word_quads + part * steps.x_rows
            wanted = rows["a"][first:][: steps.x_rows], rows["b"][y_part * steps.y_rows :][: steps.y_rows]
            for use, scales in zip("ab", wanted, strict=True):
                bits = int(getattr(dut, f"scale_{use}").value)
                found = [bits >> 32 * place & kept for place in range(len(scales))]
                assert found == [scale & kept for scale in scales], (use, turn, str(instruction))

    async def use(self, multiply: Multiply, rows: list[int]) -> None:
        """Compare the elements that some rows of A meet, and all scales, with those that golden names."""
        if multiply.scales:
            await self.use_scales(multiply)
        if not multiply.instruction.is_sparse:
            return
        sparsity = multiply.instruction.sparsity
        places = stored_places(sparsity, multiply.nibbles)
        of_bytes, bits = sparsity.bits < 16, sparsity.bits
        mask = (1 << bits) - 1
        for number in rows:
            b = self.rng.getrandbits(bits * sparsity.depth)
            wanted = sum(
                (b >> bits * place & mask) << bits * index
                for index, place in enumerate(places[number].tolist())
            )
            size = bits * len(places[number])
            if of_bytes and not multiply.scales:
                found = 0
                for half in range(size // 128):
                    part = await self.chosen(number, half, b >> 256 * half & (1 << 256) - 1)
                    found |= (part & (1 << 128) - 1) << 128 * half
            else:
                found = await self.chosen(number, 0, b) & (1 << size) - 1
            assert found == wanted, (str(multiply.instruction), number)

    async def release(self) -> None:
        """The oldest multiply needs its side operands no more."""
        self.dut.release.value = 1
        await RisingEdge(self.dut.aclk)
        self.dut.release.value = 0


@cocotb.test
async def kept_until_used(dut: Any) -> None:
    """Several are kept; those that are refused leave nothing behind, and no room is lost."""
    bench = Bench(dut)
    await start(dut)
    cocotb.start_soon(bench.serve())
    slots = max(8, 2 * row_buffers(bench.config))
    kept: deque[Multiply] = deque()
    for turn in range(140):
        fills = turn < 12 or bench.rng.random() < 0.6
        if dut.room.value and fills:
            multiply = bench.multiply(is_defined=bench.rng.random() < 0.7)
            await bench.read(multiply)
            if multiply.is_defined:
                kept.append(multiply)
        elif kept:
            await bench.use(kept[0], bench.rng.sample(range(16), 5))
            await bench.release()
            kept.popleft()
        await ClockCycles(dut.aclk, 2)
        assert bool(dut.room.value) == (len(kept) < slots), len(kept)


@cocotb.test
async def every_form(dut: Any) -> None:
    """All rows, with each selector; and an undefined nibble at every place."""
    bench = Bench(dut)
    await start(dut)
    cocotb.start_soon(bench.serve())
    seen = set[tuple[str, int]]()
    while len(seen) < sum(len(item.sparsity.selectors) for item in bench.sparse):
        instruction = bench.rng.choice(bench.sparse)
        multiply = bench.multiply_of(instruction, bench.rng.choice(instruction.sparsity.selectors))
        key = str(multiply.instruction), multiply.selector
        if key in seen:
            continue
        seen.add(key)
        await bench.read(multiply)
        await bench.use(multiply, list(range(16)))
        await bench.release()
        positions = list(multiply.instruction.sparsity.positions(multiply.selector))
        words = multiply.words
        for lane, nibble, *_ in bench.rng.sample(positions, 12):
            multiply.words = words.copy()
            multiply.words[lane] |= np.uint32(15 << 4 * nibble)
            await bench.read(multiply)


@cocotb.test
async def every_undefined_nibble(dut: Any) -> None:
    """Each at each place of a lane and each lane of a quad, of each kind of elements."""
    bench = Bench(dut)
    await start(dut)
    cocotb.start_soon(bench.serve())
    for instruction in (item for item in bench.sparse if item.a_type in ("bf16", "tf32", "u8")):
        defined = instruction.sparsity.nibbles
        for selector in instruction.sparsity.selectors:
            positions = list(instruction.sparsity.positions(selector))
            bench.rng.shuffle(positions)
            places = {(lane % 4, place): (lane, place) for lane, place, *_ in positions}
            for lane, place in places.values():
                for nibble in (value for value in range(16) if value not in defined):
                    multiply = bench.multiply_of(instruction, selector)
                    multiply.words[lane] &= ~np.uint32(15 << 4 * place)
                    multiply.words[lane] |= np.uint32(nibble << 4 * place)
                    await bench.read(multiply)


@cocotb.test
async def every_scale_selector(dut: Any) -> None:
    """Bytes and lanes of A beside any of B."""
    bench = Bench(dut)
    await start(dut)
    cocotb.start_soon(bench.serve())
    for instruction in (item for item in bench.instructions if item.scales):
        bytes_ = BYTE_IDS[instruction.scale_vec]
        for byte, thread in product(bytes_, THREAD_IDS["b"]):
            multiply = bench.multiply_of(instruction)
            multiply.scales["a"].byte, multiply.scales["a"].thread = byte, thread % len(THREAD_IDS["a"])
            multiply.scales["b"].byte, multiply.scales["b"].thread = bench.rng.choice(bytes_), thread
            await bench.read(multiply)
            await bench.use_scales(multiply)
            await bench.release()


@pytest.mark.parametrize(
    "preset", ["scales", *(pytest.param(name, marks=SLOW) for name in ("tiny", "standard", "wide scales"))]
)
def test_side_operands(simulate: Simulate, preset: str) -> None:
    design = unit_design(f"side_operands_{preset.replace(' ', '_')}", ReaderWithRows(config_of(preset)))
    simulate(design, __name__, values={"preset": preset})
