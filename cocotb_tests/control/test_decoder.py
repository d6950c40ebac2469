"""The decoder against the golden tables: what is accepted, with which constants, what is refused and why."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import cocotb
import pytest
from amaranth.lib import data
from cocotb.triggers import Timer

from cocotb_tests.configurations import ALL_FORMATS
from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.control.decoder_model import expected_cause, near_legal, with_noise
from cocotb_tests.requests import check_geometry, check_order, check_tile
from golden.tables.commands import (
    MATRIX_COUNTS,
    MATRIX_SPACES,
    Command,
    Fill,
    Load,
    LoadMatrix,
    Mma,
    Move,
    MoveMatrix,
    Store,
    StoreMatrix,
)
from golden.tables.faults import Cause
from golden.tables.instruction_set import (
    CORE_FAMILIES,
    LAYOUTS,
    ROUNDINGS,
    SPACES,
    Shape,
)
from golden.tables.layouts import FragmentLayout, fragment
from golden.tables.matrix_instructions import (
    LoadInstruction,
    MmaInstruction,
    StoreInstruction,
    multiplies_of,
)
from golden.tables.profiles import PROFILES
from golden.tables.scales import BYTE_IDS, THREAD_IDS
from hdl.command import (
    COMMAND_BITS,
    Opcode,
    encode,
)
from hdl.config import CoreConfig, DotProductConfig
from hdl.control.decoded import Decoded, side_layout
from hdl.control.decoder import Decoder
from hdl.control.scoreboard import Unit
from hdl.dot_product.operands import Multiplicand, Result
from hdl.memory.fragment_geometry import Pattern, legal_fragments
from hdl.multiply.tile.request import TileShape
from hdl.multiply.tile.side_operands import side_registers
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

CONFIG = CoreConfig()
CONFIGS = {
    "f16": CONFIG,
    "all": replace(ALL_FORMATS, registers=128, shared_bytes=0x4000, warps=4, sparse=True, wgmma=True),
    "blackwell": CoreConfig(
        dot_product=DotProductConfig(
            formats=frozenset({"f16", "fp8", "fp6", "fp4", "b1"}),
            profile=PROFILES["blackwell"],
            block_scale=True,
        ),
        f64_units=1,
        sparse=True,
        mxf4=True,
    ),
    "integers": CoreConfig(dot_product=DotProductConfig(formats=frozenset({"i8", "b1"})), warps=16),
}
WARPS = {"f16": 0, "all": 3, "blackwell": 0, "integers": 15}
"""Whose decoder is tested."""
F16 = next(family for family in CORE_FAMILIES if family.name == "f16")
DECODED = data.Layout.cast(Decoded)
LIMIT = 1 << 8
"""Of the number of a register in a command."""


async def decode(dut: Any, bits: int) -> Any:
    """What the decoder makes of a command word."""
    dut.aresetn.value, dut.take.value, dut.command.value = 1, 1, bits
    for level in (0, 1, 0):
        dut.aclk.value = level
        await Timer(1, "ns")
    return DECODED.from_bits(int(dut.decoded.value))


def cause_of(decoded: Any) -> int:
    """Zero, or why a decoded command is refused."""
    return int(decoded.cause) or (Cause.REGISTER_RANGE if decoded.beyond else 0)


def warp() -> int:
    return WARPS[parameters()["config"]]


_NOISE = random.Random(1)


def bits_of(command: Command) -> int:
    words = encode(replace(command, warp=warp()))
    return with_noise(sum(word << 32 * index for index, word in enumerate(words)), _NOISE)


def in_warp(*registers: int) -> tuple[int, ...]:
    """Registers of the file as the warp numbers them."""
    return tuple(register - warp() * CONFIGS[parameters()["config"]].registers for register in registers)


@cocotb.test
async def every_load_and_store(dut: Any) -> None:
    """All loads and stores of the f16 family, with their geometry."""
    rng = random.Random(cocotb.RANDOM_SEED)
    registers = CONFIG.registers
    count = 0
    for shape in F16.shapes:
        for layout in LAYOUTS:
            for space in ("global", "generic"):
                rows: list[Any] = [
                    LoadInstruction(use=use, layout=layout, shape=shape, type=name, space=space)
                    for use in ("a", "b", "c")
                    for name in (F16.accumulators if use == "c" else F16.multiplicands)
                ]
                rows += [
                    StoreInstruction(layout=layout, shape=shape, type=name, space=space)
                    for name in F16.accumulators
                ]
                for instruction in rows:
                    form = fragment(instruction.use, instruction.type, shape)
                    for register in (0, 1, registers - form.registers):
                        stride = rng.choice([None, 0, rng.getrandbits(32)])
                        address = rng.getrandbits(64)
                        kind = Store if instruction.use == "d" else Load
                        command = kind(instruction, register, address, stride)
                        decoded = await decode(dut, bits_of(command))
                        check_memory(command, form, decoded)
                        count += 1
                    command = kind(instruction, registers - form.registers + 1, 0)
                    assert cause_of(await decode(dut, bits_of(command))) == Cause.REGISTER_RANGE
    assert count == 3 * 2 * 2 * 6 * 3


def check_memory(command: Load | Store, form: FragmentLayout, decoded: Any) -> None:
    """Compare the decoded request with the command and the golden layout of its fragment."""
    instruction = command.instruction
    request = decoded.memory
    assert cause_of(decoded) == 0, command
    held = set(range(command.register, command.register + form.registers))
    if isinstance(command, Store):
        assert decoded.unit is Unit.STORE
        assert footprint(decoded) == ([held], set())
    else:
        assert decoded.unit is Unit.LOAD
        assert footprint(decoded) == ([], held)
    assert request.space == SPACES.index(instruction.space)
    assert in_warp(request.register) == (command.register,)
    assert request.address == command.address
    assert request.has_stride == (command.stride is not None)
    assert request.stride == (command.stride or 0)
    check_geometry(instruction, request.geometry)


@cocotb.test
async def every_multiply(dut: Any) -> None:
    """All multiplies of the f16 family, layouts and saturation included, with registers of every overlap."""
    rng = random.Random(cocotb.RANDOM_SEED)
    registers = CONFIG.registers
    for shape in F16.shapes:
        for a_layout in LAYOUTS:
            for b_layout in LAYOUTS:
                for c_type in F16.accumulators:
                    for d_type in F16.accumulators:
                        for saturate in (False, True):
                            instruction = MmaInstruction(
                                shape=shape,
                                a_layout=a_layout,
                                b_layout=b_layout,
                                a_type="f16",
                                b_type="f16",
                                c_type=c_type,
                                d_type=d_type,
                                saturate=saturate,
                            )
                            for _ in range(10):
                                first = [rng.randrange(registers - 7) for _ in range(4)]
                                if rng.random() < 0.7:
                                    shift = rng.randrange(-9, 10)
                                    first[0] = min(max(first[3] + shift, 0), registers - 8)
                                command = Mma(instruction, *first)
                                check_multiply(command, shape, await decode(dut, bits_of(command)))
                            await check_multiply_ranges(dut, instruction, registers)


def check_multiply(command: Mma, shape: Shape, decoded: Any) -> None:
    """Compare the decoded tile with the command and the golden layouts of its fragments."""
    instruction = command.instruction
    tile, operation = decoded.tile, decoded.tile.operation
    a, b = (fragment(use, "f16", shape) for use in ("a", "b"))
    c, d = fragment("c", instruction.c_type, shape), fragment("d", instruction.d_type, shape)
    x, y = (b, a) if shape.n == 32 else (a, b)
    assert cause_of(decoded) == 0, command
    assert decoded.unit is Unit.TILE
    assert tile.tile_shape == (TileShape.WIDE_32 if 32 in (shape.m, shape.n) else TileShape.SQUARE_16)
    assert tile.halves
    assert tile.passes == 0
    assert tile.x_is_b == (shape.n == 32)
    assert in_warp(tile.x, tile.y) == ((command.b, command.a) if shape.n == 32 else (command.a, command.b))
    assert in_warp(tile.c, tile.d) == (command.c, command.d)
    check_order(tile.x_order, x)
    check_order(tile.y_order, y)
    assert operation.multiplicand == Multiplicand.F16
    assert operation.saturate == instruction.saturate
    assert operation.c_is_f16 == (instruction.c_type == "f16")
    assert not operation.a_signed
    assert not operation.b_signed
    assert (
        operation.result
        == {
            ("f32", "f32"): Result.F32,
            ("f32", "f16"): Result.F32,
            ("f16", "f16"): Result.F16,
            ("f16", "f32"): Result.F16_FROM_F32,
        }[instruction.d_type, instruction.c_type]
    )
    reads = [
        set(range(first, first + form.registers))
        for first, form in ((command.a, a), (command.b, b), (command.c, c))
    ]
    assert footprint(decoded) == (reads, set(range(command.d, command.d + d.registers)))


def footprint(decoded: Any) -> tuple[list[set[int]], set[int]]:
    """The registers that a decoded command reads, operand by operand, and those it writes."""

    def registers(operand: Any) -> set[int]:
        return set(range(operand.first, operand.last + 1)) if operand.valid else set()

    reads = [registers(operand) for operand in decoded.footprint.reads]
    return [operand for operand in reads if operand], registers(decoded.footprint.write)


async def check_multiply_ranges(dut: Any, instruction: MmaInstruction, registers: int) -> None:
    """Each fragment just within the register file, and with its last register at each power of two beyond."""
    for use, layout in instruction.fragments.items():
        held = layout.registers
        powers = (1 << bit for bit in range(LIMIT.bit_length()))
        lasts = (registers - 1, *(power for power in powers if registers <= power < LIMIT + held - 1))
        for last in lasts:
            place, cause = last + 1 - held, Cause.REGISTER_RANGE if last >= registers else 0
            first = {"d": 0, "a": 0, "b": 0, "c": 0, use: place}
            decoded = await decode(dut, bits_of(Mma(instruction, **first)))
            assert cause_of(decoded) == cause, (instruction, use, place)


@cocotb.test
async def every_length_of_fill_and_move(dut: Any) -> None:
    """Fills and moves of every length, with the registers they read and write; of no register, none."""
    rng = random.Random(cocotb.RANDOM_SEED)
    registers = CONFIGS[parameters()["config"]].registers
    for count in range(registers + 1):
        for place in {0, 1, registers - count, rng.randrange(registers - count + 1)}:
            if place + count > registers:
                continue
            other, value = rng.randrange(registers - count + 1), rng.getrandbits(32)
            written, read = set(range(place, place + count)), set(range(other, other + count))
            decoded = await decode(dut, bits_of(Fill(place, count, value)))
            assert (cause_of(decoded), decoded.unit) == (0, Unit.MOVE)
            assert footprint(decoded) == ([], written)
            assert not decoded.move.is_move
            assert not decoded.move.transposes
            assert (*in_warp(decoded.move.destination), decoded.move.count) == (place % registers, count)
            assert decoded.move.value == value
            decoded = await decode(dut, bits_of(Move(place, other, count)))
            assert (cause_of(decoded), decoded.unit) == (0, Unit.MOVE)
            assert footprint(decoded) == ([read] if count else [], written)
            assert decoded.move.is_move
            assert not decoded.move.transposes
            assert (*in_warp(decoded.move.destination), decoded.move.count) == (place % registers, count)
            assert in_warp(decoded.move.source) == (other % registers,)


@cocotb.test
async def ranges_beyond_the_registers(dut: Any) -> None:
    """Ends that are a power of two too far, in every operand of other commands than multiplies."""
    config = CONFIGS[parameters()["config"]]
    rng = random.Random(cocotb.RANDOM_SEED)
    commands: list[Command] = []
    for end in (config.registers + (1 << bit) for bit in range(12)):
        for first in {0, 1, LIMIT - 1, rng.randrange(LIMIT)}:
            if first < end < first + (1 << 12):
                count = end - first
                commands += [Fill(first, count, 1), Move(first, 0, count), Move(0, first, count)]
        for use, name, shape, layout in legal_fragments(config):
            first = end - fragment(use, name, shape).registers
            if first < LIMIT:
                commands.append(access(rng, config, use, name, shape, layout, first))
        if config.shared_bytes and end <= LIMIT:
            for kind, count in product((LoadMatrix, StoreMatrix), MATRIX_COUNTS):
                commands += [kind(end - count, 0, count), kind(0, end - 1, count)]
            commands += [MoveMatrix(end - 1, 0), MoveMatrix(0, end - 1)]
    for first in range(config.registers + 1, LIMIT):
        commands += [Fill(first, 0, 1), Move(first, 0, 0), Move(0, first, 0)]
    for command in commands:
        assert cause_of(await decode(dut, bits_of(command))) == Cause.REGISTER_RANGE, command


def access(
    rng: random.Random, config: CoreConfig, use: str, name: str, shape: Shape, layout: str, register: int
) -> Load | Store:
    """A load or store of a fragment, in any space, with any address and stride."""
    space = rng.choice(SPACES if config.shared_bytes else ("global", "generic"))
    common: Any = {"layout": layout, "shape": shape, "type": name, "space": space}
    place = (register, rng.getrandbits(64), rng.choice([None, rng.getrandbits(32)]))
    if use == "d":
        return Store(StoreInstruction(**common), *place)
    return Load(LoadInstruction(use=use, **common), *place)


@cocotb.test
async def loads_that_could_be_multiplies(dut: Any) -> None:
    """Loads and stores whose reserved bits make them multiplies but for the opcode."""
    config = CONFIGS[parameters()["config"]]
    rng = random.Random(cocotb.RANDOM_SEED)
    likely: dict[int, list[int]] = {}
    for instruction in multiplies(config):
        bits = bits_of(Mma(instruction, 0, 0, 0, 0))
        likely.setdefault(bits >> 3 & KEY, []).append(bits)
    met = 0
    for use, name, shape, layout in legal_fragments(config):
        held = fragment(use, name, shape)
        for _ in range(6):
            register = rng.randrange(config.registers - held.registers + 1)
            command = access(rng, config, use, name, shape, layout, register)
            bits = bits_of(command)
            for multiply in likely.get(bits >> 3 & KEY, ()):
                reserved = RESERVED << 17
                check_memory(command, held, await decode(dut, bits & ~reserved | multiply & reserved))
                met += 1
    assert met > 20


@cocotb.test
async def fills_that_could_be_others(dut: Any) -> None:
    """Fills and moves whose other bits make them loads, stores or multiplies but for the opcode."""
    config = CONFIGS[parameters()["config"]]
    rng = random.Random(cocotb.RANDOM_SEED)
    others = [bits_of(Mma(instruction, 0, 0, 0, 0)) for instruction in multiplies(config)]
    for held in legal_fragments(config):
        count = rng.randrange(config.registers // 2) << 17
        others.append(bits_of(access(rng, config, *held, 0)) & ~(RESERVED << 17) | count)
    for bits, opcode in product(others, (Opcode.FILL, Opcode.MOVE)):
        fill = bits >> 3 << 3 | opcode.value
        decoded = await decode(dut, fill)
        assert cause_of(decoded) == expected_cause(fill, config, warp()), f"{fill:#x}"
        if not cause_of(decoded):
            first, count = fill >> 32 & LIMIT - 1, fill >> 16 & (1 << 12) - 1
            assert footprint(decoded)[1] == set(range(first, first + count))


KEY, RESERVED = (1 << 14) - 1, (1 << 11) - 1
"""What stands above the opcode of a load or store, and the reserved bits above that."""


@cocotb.test
async def every_move_of_matrices(dut: Any) -> None:
    """Unit, registers, geometry and rows of each; a core without on-chip memory has none."""
    config = CONFIGS[parameters()["config"]]
    rng = random.Random(cocotb.RANDOM_SEED)
    for kind, count, transposed, space in product(
        (LoadMatrix, StoreMatrix), MATRIX_COUNTS, (False, True), MATRIX_SPACES
    ):
        register = rng.randrange(config.registers - count + 1)
        addresses = rng.randrange(config.registers)
        decoded = await decode(dut, bits_of(kind(register, addresses, count, transposed, space)))
        if not config.shared_bytes:
            assert cause_of(decoded) == Cause.ILLEGAL_INSTRUCTION
            continue
        held = set(range(register, register + count))
        reads = [{addresses}] if kind is LoadMatrix else [held, {addresses}]
        assert cause_of(decoded) == 0
        assert decoded.unit is (Unit.LOAD if kind is LoadMatrix else Unit.STORE)
        assert footprint(decoded) == (reads, held if kind is LoadMatrix else set())
        assert (*in_warp(decoded.rows.register), 1 << decoded.rows.count_log2) == (addresses, count)
        assert decoded.rows.is_store == (kind is StoreMatrix)
        request = decoded.memory
        assert (request.listed, *in_warp(request.register)) == (1, register)
        assert request.space == SPACES.index(space)
        geometry = request.geometry
        assert (8 * count, 16, count) == (
            1 << geometry.lines_log2,
            1 << geometry.line_log2,
            geometry.registers,
        )
        assert geometry.pattern == (Pattern.TRANSPOSED_16 if transposed else Pattern.PACKED)
    decoded = await decode(dut, bits_of(MoveMatrix(3, 5)))
    if config.shared_bytes:
        assert (cause_of(decoded), decoded.unit, decoded.move.transposes) == (0, Unit.MOVE, 1)
        assert in_warp(decoded.move.destination, decoded.move.source) == (3, 5)
        assert footprint(decoded) == ([{5}], {3})
    else:
        assert cause_of(decoded) == Cause.ILLEGAL_INSTRUCTION


@cocotb.test
async def random_words(dut: Any) -> None:
    """Command words at random, most of them nearly legal: refused exactly when the tables do."""
    rng = random.Random(cocotb.RANDOM_SEED)
    config = CONFIGS[parameters()["config"]]
    seen: Counter[tuple[int, int]] = Counter()
    for _ in range(6000):
        opcode = rng.randrange(8)
        bits = (
            near_legal(rng, opcode, config, warp()) if rng.random() < 0.9 else rng.getrandbits(COMMAND_BITS)
        )
        bits = bits >> 3 << 3 | opcode
        decoded = await decode(dut, bits)
        expected = expected_cause(bits, config, warp())
        assert cause_of(decoded) == expected, f"{bits:#x}: {expected}"
        seen[opcode, expected] += 1
    for item in Opcode:
        assert seen[item.value, Cause.WARP_RANGE] > 20, item
        has = {
            Opcode.MATRIX: bool(config.shared_bytes),
            Opcode.SPARSE: config.sparse,
            Opcode.WGMMA: config.wgmma,
        }
        if has.get(item, True):
            assert seen[item.value, 0] > 20, item
            assert seen[item.value, Cause.REGISTER_RANGE] > 20, item
    refused = (Opcode.LOAD, Opcode.STORE, Opcode.MMA, Opcode.MATRIX)
    for item in (0, Opcode.SPARSE.value, *(opcode.value for opcode in refused)):
        assert seen[item, Cause.ILLEGAL_INSTRUCTION] > 20, item


@cocotb.test
async def every_family(dut: Any) -> None:
    """Every multiply, load and store of all formats: its unit, its registers, and the f64 request."""
    config = CONFIGS[parameters()["config"]]
    rng = random.Random(cocotb.RANDOM_SEED)
    units: Counter[Unit] = Counter()
    for use, name, shape, layout in legal_fragments(config):
        form = fragment(use, name, shape)
        held = form.registers
        command = access(rng, config, use, name, shape, layout, rng.randrange(config.registers - held + 1))
        decoded = await decode(dut, bits_of(command))
        check_memory(command, form, decoded)
        units[decoded.unit] += 1
        past = type(command)(command.instruction, config.registers - held + 1, 0)
        assert cause_of(await decode(dut, bits_of(past))) == Cause.REGISTER_RANGE
    for instruction in multiplies(config):
        held_by = {use: layout.registers for use, layout in instruction.fragments.items()}
        first = {use: rng.randrange(config.registers - count + 1) for use, count in held_by.items()}
        allowed = selectors_of(instruction)
        side: dict[str, Any] = {name: rng.randrange(config.registers) for name in instruction.side_registers}
        side |= {name: rng.choice(values) for name, values in allowed.items()}
        command = Mma(instruction, **first, **side)
        decoded = await decode(dut, bits_of(command))
        assert cause_of(decoded) == 0, instruction
        if config.has_side_operands:
            check_side_operands(command, config, side_layout(config).from_bits(int(dut.side.value)))
        for name, beyond in product(instruction.side_registers, (config.registers, LIMIT - 1)):
            refused = await decode(dut, bits_of(replace(command, **{name: beyond})))
            assert cause_of(refused) == Cause.REGISTER_RANGE, (instruction, name, beyond)
        for name, values in allowed.items():
            for other in set(range(4)) - set(values):
                refused = await decode(dut, bits_of(replace(command, **{name: other})))
                assert cause_of(refused) == Cause.ILLEGAL_INSTRUCTION, (instruction, name, other)
        await check_multiply_ranges(dut, instruction, config.registers)
        ranges = {use: set(range(first[use], first[use] + count)) for use, count in held_by.items()}
        assert footprint(decoded) == ([ranges[use] for use in "abc"], ranges["d"])
        f64 = instruction.a_type == "f64"
        assert decoded.unit is (Unit.F64 if f64 else Unit.TILE)
        if f64:
            request = decoded.f64
            assert in_warp(*(request[use] for use in "abcd")) == tuple(first[use] for use in "abcd")
            assert ROUNDINGS[request.tile.rounding] == (instruction.rounding or "rn")
            assert request.tile.two_blocks == (instruction.shape.m == 16), instruction
            assert 4 << request.tile.k_blocks_log2 == instruction.shape.k, instruction
        else:
            check_tile(instruction, decoded.tile, converts=config.dot_product.profile.narrow_block is None)
            wide = "b" if decoded.tile.x_is_b else "a"
            other = "a" if decoded.tile.x_is_b else "b"
            tile = decoded.tile
            expected_first = tuple(first[use] for use in (wide, other, "c", "d"))
            assert in_warp(tile.x, tile.y, tile.c, tile.d) == expected_first
        units[decoded.unit] += 1
    expected = {Unit.LOAD, Unit.STORE, Unit.TILE} | ({Unit.F64} if config.f64_units else set())
    assert set(units) == expected


@cocotb.test
async def absent_formats_and_spaces(dut: Any) -> None:
    """What the configuration leaves out is an illegal instruction."""
    config = CONFIGS[parameters()["config"]]
    present = list(legal_fragments(config))
    for use, name, shape, layout in legal_fragments(ALL_FORMATS):
        for space in SPACES:
            common = {"layout": layout, "shape": shape, "type": name, "space": space}
            command: Command = (
                Store(StoreInstruction(**common), 0, 0)
                if use == "d"
                else Load(LoadInstruction(use=use, **common), 0, 0)
            )
            held = (use, name, shape, layout) in present and (space != "shared" or config.shared_bytes > 0)
            cause = 0 if held else Cause.ILLEGAL_INSTRUCTION
            assert cause_of(await decode(dut, bits_of(command))) == cause, command
    absent = [family for family in CORE_FAMILIES if family not in config.families]
    is_narrow = config.dot_product.profile.narrow_block is not None
    for instruction in multiplies(CONFIGS["all"]):
        if is_narrow and instruction.mnemonic == "wgmma":
            continue  # told from mma by a bit that does not count there
        cause = Cause.ILLEGAL_INSTRUCTION if instruction.family in absent else 0
        assert cause_of(await decode(dut, bits_of(Mma(instruction, 0, 0, 0, 0)))) == cause, instruction


def selectors_of(instruction: MmaInstruction) -> dict[str, Sequence[int]]:
    """The values that each selector of a multiply may have."""
    found: dict[str, Sequence[int]] = {}
    if instruction.is_sparse:
        found["selector"] = instruction.sparsity.selectors
    if instruction.scales:
        found |= {f"byte_{use}": BYTE_IDS[instruction.scale_vec] for use in "ab"}
        found |= {f"thread_{use}": THREAD_IDS[use] for use in "ab"}
    return found


def check_side_operands(command: Mma, config: CoreConfig, decoded: Any) -> None:
    """Compare what a multiply has beside its fragments with the golden tables."""
    instruction = command.instruction
    names = instruction.side_registers
    assert decoded.present == bool(names)
    for name, range_ in zip(side_registers(config), decoded.registers, strict=True):
        assert range_.valid == (name in names), name
        if range_.valid:
            assert (range_.first, range_.last) == (getattr(command, name),) * 2
    if config.scales:
        assert decoded.request.vec == instruction.scales.bit_length()
    for use in "ab" if instruction.scales else "":
        request = decoded.request[f"scale_{use}"]
        given = (*in_warp(request.register), request.byte, request.thread)
        expected = (getattr(command, f"{name}_{use}") for name in ("scale", "byte", "thread"))
        assert given == tuple(expected)
    if not config.sparse:
        return
    assert decoded.request.is_sparse == instruction.is_sparse
    if not instruction.is_sparse:
        return
    request = decoded.request.metadata
    assert (*in_warp(request.register), request.selector) == (command.metadata, command.selector)
    assert request.of_bytes == (instruction.fragments["a"].element_bits <= 8)
    assert request.is_tf32 == (instruction.a_type == "tf32")
    lanes = 1 << request.halves + request.of_bytes
    assert lanes == instruction.sparsity.words


def multiplies(config: CoreConfig) -> Iterator[MmaInstruction]:
    """Every multiply of the configuration's families."""
    for family in config.families:
        yield from multiplies_of(family)


ANY = (
    "every_family",
    "ranges_beyond_the_registers",
    "every_move_of_matrices",
    "absent_formats_and_spaces",
    "every_length_of_fill_and_move",
    "random_words",
    "fills_that_could_be_others",
)


@pytest.mark.parametrize(
    "config", ["blackwell", "integers", *(pytest.param(config, marks=SLOW) for config in ("f16", "all"))]
)
def test_decoder(simulate: Simulate, config: str) -> None:
    design = unit_design(f"decoder_{config}", Decoder(CONFIGS[config], WARPS[config]))
    # No load of integers has the bits of a multiply of integers.
    cases = {"f16": (), "all": (*ANY, "loads_that_could_be_multiplies")}
    simulate(design, __name__, values={"config": config}, cases=cases.get(config, ANY))
