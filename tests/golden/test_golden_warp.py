"""The golden machine: loads, stores, multiplies, moves, and every fault."""

import re

import numpy as np
import pytest
from golden_captures import COMPACT

import golden
from golden.fragments import collect, distribute
from golden.machine import Counters, Machine
from golden.memory import Memory
from golden.random_operands import random_operands
from golden.resolve import resolve_instruction
from golden.tables.commands import Fill, Load, Mma, Move, Store
from golden.tables.faults import Cause, Fault
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import CORE_FAMILIES, LAYOUTS, Shape
from golden.tables.layouts import LANES, fragment
from golden.tables.matrix_instructions import (
    IllegalInstruction,
    LoadInstruction,
    MmaInstruction,
    StoreInstruction,
)
from golden.tables.profiles import PROFILES
from golden.warp import GoldenMachine

SIZE = 1 << 16
BASE = 0x4000


def loads():
    seen = []
    for family in CORE_FAMILIES:
        for shape in family.shapes:
            for use, types in (
                ("a", family.multiplicands),
                ("b", family.multiplicands),
                ("c", family.accumulators),
            ):
                for element in types:
                    for layout in LAYOUTS:
                        try:
                            load = LoadInstruction(use=use, layout=layout, shape=shape, type=element)
                        except IllegalInstruction:
                            continue
                        if load not in seen:
                            seen.append(load)
    return seen


LOADS = loads()


def machine(**keywords):
    made = GoldenMachine(memory=Memory(SIZE, BASE), **keywords)
    made.memory.data[:] = np.random.default_rng(5).integers(0, 256, SIZE, dtype=np.uint8)
    return made


def strides(instruction):
    """The default stride, a wider one, one of less than a line where there is one, and 0."""
    layout = fragment(instruction.use, instruction.type, instruction.shape)
    default = instruction.shape.default_stride(instruction.use, instruction.layout)
    unit = 8 * instruction.core_alignment // layout.element_bits
    return None, default + 3 * unit, unit, 0


def element_of(data, bit, format):
    """One element of memory, read bit by bit from its little-endian bytes."""
    value = sum(int(data[(bit + i) // 8] >> (bit + i) % 8 & 1) << i for i in range(format.bits))
    if not isinstance(format, FloatFormat) and format.signed and value > format.maximum:
        value -= 1 << format.bits
    return value


def test_every_load_of_the_chip_is_tested():
    with np.load(COMPACT / "layouts.npz") as loaded:
        captured = {tuple(key.split("/")[1:5]) for key in loaded.files if key.endswith("/map")}
    assert {(load.use, load.type, str(load.shape), load.layout) for load in LOADS} == captured


@pytest.mark.parametrize("instruction", LOADS, ids=str)
def test_load(instruction):
    use, element, shape = instruction.use, instruction.type, instruction.shape
    format = FORMATS[element]
    for stride in strides(instruction):
        warp = machine()
        layout = fragment(use, element, shape)
        address = BASE + 13 * instruction.core_alignment
        warp.execute(Load(instruction, 5, address, stride))
        matrix = np.zeros(shape.extent(use), dtype=object)
        step = shape.default_stride(use, instruction.layout) if stride is None else stride
        for row, column in np.ndindex(*shape.extent(use)):
            line, place = (row, column) if instruction.layout == "row" else (column, row)
            bit = 8 * (address - BASE) + (line * step + place) * format.bits
            matrix[row, column] = element_of(warp.memory.data, bit, format)
        registers = warp.read_registers()
        found = collect(registers[5 : 5 + layout.registers], use, element, shape)
        assert (found == matrix).all()
        words = distribute(found, use, element, shape)
        np.testing.assert_array_equal(registers[5 : 5 + layout.registers], words)
        assert not registers[:5].any()
        assert not registers[5 + layout.registers :].any()


@pytest.mark.parametrize("instruction", [load for load in LOADS if load.use == "c"], ids=str)
@pytest.mark.parametrize("back", LAYOUTS)
def test_load_then_store(instruction, back):
    """In the same layout memory comes back, in the other one its transpose; nothing else changes.

    Of rows or columns that overlap the last one stays.
    """
    for number, stride in enumerate(strides(instruction)):
        warp = machine()
        shape, element = instruction.shape, instruction.type
        layout = fragment("c", element, shape)
        store = StoreInstruction(layout=back, shape=shape, type=element)
        back_stride = strides(store)[number]
        before = warp.memory.data.copy()
        warp.execute(Load(instruction, 0, BASE, stride))
        target = BASE + SIZE // 2
        warp.execute(Store(store, 0, target, back_stride))

        expected = before.copy()
        size = layout.element_bits // 8
        steps = (
            size * (shape.default_stride("c", layout) if given is None else given)
            for given, layout in ((stride, instruction.layout), (back_stride, back))
        )
        step, back_step = steps
        for line, place in np.ndindex(*shape.lines("d", back)):
            row, column = (line, place) if back == "row" else (place, line)
            source_line, source_place = (row, column) if instruction.layout == "row" else (column, row)
            source = source_line * step + source_place * size
            end = SIZE // 2 + line * back_step + place * size
            expected[end : end + size] = before[source : source + size]
        np.testing.assert_array_equal(warp.memory.data, expected)
        assert warp.counters == Counters(instructions=2)


MULTIPLIES = [
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
    "wmma.mma.sync.aligned.col.row.m8n32k16.f16.f32",
    "wmma.mma.sync.aligned.col.col.m32n8k16.f32.bf16.bf16.f32",
    "wmma.mma.sync.aligned.row.row.m16n16k8.f32.tf32.tf32.f32",
    "wmma.mma.sync.aligned.row.col.m8n8k4.rm.f64.f64.f64.f64",
    "wmma.mma.sync.aligned.row.col.m8n32k16.s32.u8.u8.s32.satfinite",
    "wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32",
    "wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
    "mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32",
]


@pytest.mark.parametrize("text", MULTIPLIES)
@pytest.mark.parametrize("in_place", [False, True])
def test_multiply(text, in_place):
    instruction = resolve_instruction(text)
    a, b, c = (operand[0] for operand in random_operands(np.random.default_rng(7), instruction, 1))
    warp = machine()
    shape = instruction.shape
    for first, use, element, matrix in (
        (0, "a", instruction.a_type, a),
        (16, "b", instruction.b_type, b),
        (32, "c", instruction.c_type, c),
    ):
        warp.write_registers(first, distribute(matrix, use, element, shape))
    before = warp.read_registers()
    d = 32 if in_place else 48
    warp.execute(Mma(instruction, d, 0, 16, 32))
    words = distribute(golden.mma(instruction, a, b, c), "d", instruction.d_type, shape)
    before[d : d + len(words)] = words
    np.testing.assert_array_equal(warp.read_registers(), before)


def test_fill_and_move():
    warp = machine(registers=8)
    warp.execute(Fill(2, 3, 0x12345678))
    expected = np.zeros((8, LANES), np.uint32)
    expected[2:5] = 0x12345678
    np.testing.assert_array_equal(warp.read_registers(), expected)

    numbered = np.arange(8 * LANES, dtype=np.uint32).reshape(8, LANES)
    warp.write_registers(0, numbered)
    warp.execute(Move(5, 0, 3))
    np.testing.assert_array_equal(warp.read_registers(), numbered[[0, 1, 2, 3, 4, 0, 1, 2]])
    warp.write_registers(0, numbered)
    warp.execute(Move(1, 0, 4))
    np.testing.assert_array_equal(warp.read_registers(), numbered[[0, 0, 0, 0, 0, 5, 6, 7]])
    warp.execute(Fill(0, 0, 0))
    assert warp.counters.instructions == 4


def test_it_is_a_machine():
    warp: Machine = machine()
    assert warp.read_registers().shape == (64, LANES)
    warp.close()


LOAD_A = LoadInstruction(use="a", layout="row", shape=Shape(16, 16, 16), type="f16")
LOAD_C = LoadInstruction(use="c", layout="col", shape=Shape(16, 16, 16), type="f32")
STORE_D = StoreInstruction(layout="row", shape=Shape(16, 16, 16), type="f32")
S4_A = LoadInstruction(use="a", layout="row", shape=Shape(8, 8, 32), type="s4")
F64_C = LoadInstruction(use="c", layout="row", shape=Shape(8, 8, 4), type="f64")
SHARED = LoadInstruction(use="a", layout="row", shape=Shape(16, 16, 16), type="f16", space="shared")
END = BASE + SIZE


@pytest.mark.parametrize(
    ("command", "cause", "detail"),
    [
        (Load(SHARED, 99, 1, 1), Cause.ILLEGAL_INSTRUCTION, "this machine has no shared memory"),
        (
            Load(LOAD_A, 57, 1, 1),
            Cause.REGISTER_RANGE,
            "fragment a, 8 registers from 57 on, exceeds the 64 there are",
        ),
        (
            Load(LOAD_A, -1, BASE),
            Cause.REGISTER_RANGE,
            "fragment a, 8 registers from -1 on, exceeds the 64 there are",
        ),
        (
            Load(LOAD_A, 0, BASE + 2, 1),
            Cause.MISALIGNED_ADDRESS,
            "address 0x4002 is not a multiple of 4 bytes",
        ),
        (
            Load(F64_C, 0, BASE + 8),
            Cause.MISALIGNED_ADDRESS,
            "address 0x4008 is not a multiple of 16 bytes",
        ),
        (
            Store(STORE_D, 0, BASE + 4, 16),
            Cause.MISALIGNED_ADDRESS,
            "address 0x4004 is not a multiple of 8 bytes",
        ),
        (
            Load(LOAD_A, 0, BASE, 15),
            Cause.MISALIGNED_STRIDE,
            "stride 15 of 16-bit elements is not a multiple of 4 bytes",
        ),
        (
            Load(S4_A, 0, BASE, 36),
            Cause.MISALIGNED_STRIDE,
            "stride 36 of 4-bit elements is not a multiple of 4 bytes",
        ),
        (
            Store(STORE_D, 0, 0x100000000, 21),
            Cause.MISALIGNED_STRIDE,
            "stride 21 of 32-bit elements is not a multiple of 8 bytes",
        ),
        (
            Load(LOAD_A, 0, 0xFFFFFE20),
            Cause.ADDRESS_RANGE,
            "bytes 0xfffffe20 to 0x10000001f exceed 32 address bits",
        ),
        (Load(LOAD_A, 0, -32), Cause.ADDRESS_RANGE, "bytes -0x20 to 0x1df exceed 32 address bits"),
        (
            Load(LOAD_A, 0, 0xFFFFFE00),
            Cause.READ_DECODE_ERROR,
            "no memory at 0xfffffe00; no register was changed",
        ),
        (
            Load(LOAD_C, 0, END - 512),
            Cause.READ_DECODE_ERROR,
            "no memory at 0x14000; no register was changed",
        ),
        (
            Load(LOAD_A, 0, BASE - 256),
            Cause.READ_DECODE_ERROR,
            "no memory at 0x3f00; no register was changed",
        ),
        (
            Store(STORE_D, 0, 0),
            Cause.WRITE_DECODE_ERROR,
            "no memory at 0x0; 0 of 1024 bytes were written",
        ),
        (
            Fill(63, 2, 0),
            Cause.REGISTER_RANGE,
            "the filled range, 2 registers from 63 on, exceeds the 64 there are",
        ),
        (
            Move(0, 60, 5),
            Cause.REGISTER_RANGE,
            "the source, 5 registers from 60 on, exceeds the 64 there are",
        ),
        (
            Move(62, 0, 3),
            Cause.REGISTER_RANGE,
            "the destination, 3 registers from 62 on, exceeds the 64 there are",
        ),
        (
            Mma(resolve_instruction(MULTIPLIES[0]), 0, 8, 57, 24),
            Cause.REGISTER_RANGE,
            "fragment b, 8 registers from 57 on, exceeds the 64 there are",
        ),
    ],
)
def test_fault(command, cause, detail):
    """The machine says why, has changed nothing, and goes on."""
    warp = machine()
    warp.execute(Fill(0, 64, 0xA5A5A5A5))
    warp.execute(Load(LOAD_C, 8, BASE))
    registers, data = warp.read_registers(), warp.memory.data.copy()
    name = cause.name.lower().replace("_", " ")
    with pytest.raises(Fault, match=f"^instruction 2: {re.escape(name)}: {re.escape(detail)}$") as caught:
        warp.execute(command)
    assert (caught.value.cause, caught.value.index) == (cause, 2)
    np.testing.assert_array_equal(warp.read_registers(), registers)
    np.testing.assert_array_equal(warp.memory.data, data)
    warp.execute(Fill(0, 1, 7))
    assert warp.counters.instructions == 3


@pytest.mark.parametrize("space", ["global", "generic", "shared"])
def test_state_spaces(space):
    """A shared address counts from the window's first byte, a generic one is a place in either window."""
    shared = Memory(4096, 0x100000)
    shared.data[:] = np.random.default_rng(10).integers(0, 256, 4096, dtype=np.uint8)
    warp = machine(shared=shared)
    assert warp.shared is shared
    shape = Shape(16, 16, 16)
    offset = {"global": BASE, "generic": shared.base, "shared": 0}[space] + 1024
    source = warp.memory if space == "global" else shared
    before = source.data[1024:2048].copy()
    load = LoadInstruction(use="c", layout="row", shape=shape, type="f32", space=space)
    warp.execute(Load(load, 0, offset))
    found = collect(warp.read_registers()[:8], "c", "f32", shape)
    np.testing.assert_array_equal(found, before.view("<u4").reshape(16, 16))
    store = StoreInstruction(layout="row", shape=shape, type="f32", space=space)
    warp.execute(Store(store, 0, offset + 1024))
    np.testing.assert_array_equal(source.data[2048:3072], before)

    generic = StoreInstruction(layout="row", shape=shape, type="f32", space="generic")
    warp.execute(Store(generic, 0, BASE + 8192))
    np.testing.assert_array_equal(warp.memory.data[8192:9216], before)
    beyond = {"global": shared.base, "generic": shared.base + 4096, "shared": 4096}[space]
    with pytest.raises(Fault, match=f"no memory at {beyond:#x}; 0 of 1024 bytes were written$"):
        warp.execute(Store(store, 0, beyond))
    with pytest.raises(Fault, match=f"no memory at {beyond:#x}; no register was changed$"):
        warp.execute(Load(load, 0, beyond))


def test_last_byte_of_the_address_space():
    """A fragment may end where the addresses end."""
    warp = GoldenMachine(memory=Memory(1 << 12, (1 << 16) - (1 << 12)), address_bits=16)
    warp.execute(Load(LOAD_A, 0, (1 << 16) - 512))
    with pytest.raises(Fault) as caught:
        warp.execute(Load(LOAD_A, 0, (1 << 16) - 512, 32))
    assert caught.value.cause is Cause.ADDRESS_RANGE


def test_failed_store_writes_what_exists():
    """Beats that exist are written even when others of the same store are not there."""
    warp = machine()
    values = np.random.default_rng(9).integers(0, 1 << 32, (16, 16), dtype=np.uint32)
    warp.write_registers(0, distribute(values, "d", "f32", Shape(16, 16, 16)))
    before = warp.memory.data.copy()
    with pytest.raises(Fault, match=r"no memory at 0x14000; 640 of 1024 bytes were written$") as caught:
        warp.execute(Store(STORE_D, 0, END - 640))
    assert caught.value.cause is Cause.WRITE_DECODE_ERROR
    np.testing.assert_array_equal(warp.memory.data[-640:].view("<u4"), values.ravel()[:160])
    np.testing.assert_array_equal(warp.memory.data[:-640], before[:-640])

    before = warp.memory.data.copy()
    with pytest.raises(Fault, match=r"no memory at 0x3f00; 768 of 1024 bytes were written$"):
        warp.execute(Store(STORE_D, 0, BASE - 256))
    np.testing.assert_array_equal(warp.memory.data[:768].view("<u4"), values.ravel()[64:])
    np.testing.assert_array_equal(warp.memory.data[768:], before[768:])


def test_formats_left_out():
    warp = machine(formats={"f16", "i8"})
    refused = {
        Load(LoadInstruction(use="a", layout="row", shape=Shape(16, 16, 16), type="bf16"), 0, BASE):
            "this machine has no .bf16 fragment of m16n16k16",
        Load(LoadInstruction(use="c", layout="row", shape=Shape(16, 16, 8), type="f32"), 0, BASE):
            "this machine has no .f32 fragment of m16n16k8",
        Store(StoreInstruction(layout="row", shape=Shape(8, 8, 4), type="f64"), 0, BASE):
            "this machine has no .f64 fragment of m8n8k4",
        Mma(resolve_instruction(MULTIPLIES[6]), 0, 0, 0, 0): "this machine has no .s4 multiply",
    }  # fmt: skip
    for command, detail in refused.items():
        with pytest.raises(Fault, match=f"^instruction 0: illegal instruction: {re.escape(detail)}$"):
            warp.execute(command)
    warp.execute(Load(LOAD_C, 0, BASE))
    warp.execute(Mma(resolve_instruction(MULTIPLIES[5]), 0, 0, 0, 0))
    warp.execute(Mma(resolve_instruction(MULTIPLIES[8]), 0, 0, 0, 0))


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        (
            {"formats": {"f16", "f8"}},
            "formats: got f8; allowed: b1, bf16, block_scale, f16, f64, fp4, fp6, fp8, i4, i8, mxf4, "
            "sparse, tf32",
        ),
        ({"registers": 0}, "registers: got 0; allowed: at least 1"),
        ({"address_bits": 0}, "address_bits: got 0; allowed: at least 1"),
    ],
)
def test_refused_machines(keywords, message):
    with pytest.raises(golden.InvalidArgument, match=f"^{re.escape(message)}$"):
        machine(**keywords)


def test_refused_values():
    warp = machine()
    with pytest.raises(golden.InvalidArgument, match=r"^value: got 0x100000000; allowed: a 32-bit pattern$"):
        warp.execute(Fill(0, 1, 1 << 32))
    with pytest.raises(
        golden.InvalidArgument,
        match=r"^command: got 'ret'; allowed: a command$",
    ):
        warp.execute("ret")
    with pytest.raises(golden.InvalidArgument, match=r"^first: got registers 63 to 64; allowed: 0 to 63$"):
        warp.write_registers(63, np.zeros((2, LANES), np.uint32))
    message = r"^values: got int64 of shape \(2, 32\); allowed: uint32 of shape \(count, 32\)$"
    with pytest.raises(golden.InvalidArgument, match=message):
        warp.write_registers(0, np.zeros((2, LANES), np.int64))
    assert warp.counters.instructions == 0


def test_profile_of_a_machine():
    instruction: MmaInstruction = resolve_instruction(MULTIPLIES[0])
    operands = [operand[1] for operand in random_operands(np.random.default_rng(8), instruction, 2)]
    results = {}
    for name in ("hopper", "volta"):
        warp = GoldenMachine(memory=Memory(64), profile=PROFILES[name])
        for first, use, element, matrix in zip(
            (0, 8, 16), "abc", ("f16", "f16", "f32"), operands, strict=True
        ):
            warp.write_registers(first, distribute(matrix, use, element, instruction.shape))
        warp.execute(Mma(instruction, 24, 0, 8, 16))
        results[name] = collect(warp.read_registers()[24:32], "d", "f32", instruction.shape)
        np.testing.assert_array_equal(results[name], golden.mma(instruction, *operands, profile=name))
    assert (results["hopper"] != results["volta"]).any()
