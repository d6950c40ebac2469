"""Whole matrix multiplies: to the bit, and in an order that lets a core overlap them."""

from collections import Counter

import numpy as np
import pytest

import golden
from golden.arguments import dtype_of
from golden.programs.gemm import Gemm, multiply_matrices
from golden.resolve import resolve_instruction
from golden.tables.commands import Fill, Load, Mma, Store
from golden.tables.formats import FORMATS
from golden.tables.layouts import fragment
from hdl.config import PRESETS
from sim.machines import Backend, open_machine

STANDARD = PRESETS["standard"]
INSTRUCTIONS = {
    "f16": "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
    "f16 sums": "wmma.mma.sync.aligned.col.row.m16n16k16.f16.f16",
    "f16 wide": "wmma.mma.sync.aligned.col.col.m8n32k16.f32.f32",
    "bf16": "wmma.mma.sync.aligned.row.row.m16n16k16.f32.bf16.bf16.f32",
    "tf32": "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32",
    "f64": "wmma.mma.sync.aligned.col.row.m8n8k4.f64.f64.f64.f64",
    "s8": "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32",
    "u8": "wmma.mma.sync.aligned.col.col.m32n8k16.s32.u8.u8.s32.satfinite",
    "s4": "wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32",
}
SIZES = [(1, 1, 1), (2, 2, 3), (3, 2, 2), (1, 3, 4), (5, 3, 1)]
"""In tiles."""


def matrix(random, type, shape):
    """Moderate numbers, as `golden.mma` takes them."""
    element = FORMATS[type]
    if type in ("f16", "f32", "f64"):
        values = random.standard_normal(shape).astype(f"<f{element.bits // 8}")
        return values.view(dtype_of(element))
    if type in ("bf16", "tf32"):
        patterns = random.standard_normal(shape).astype(np.float32).view(np.uint32)
        return (patterns >> 16).astype(np.uint16) if type == "bf16" else patterns & 0xFFFFE000
    least, most = (element.minimum, element.maximum) if type != "s32" else (-(10**6), 10**6)
    return random.integers(least, most + 1, shape).astype(dtype_of(element))


def chained(instruction, a, b, c):
    """The same product by `golden.mma` alone: each tile of D the sum along k, step by step."""
    shape = instruction.shape
    d = c.copy()
    for i in range(0, len(a), shape.m):
        for j in range(0, b.shape[1], shape.n):
            tile = d[i : i + shape.m, j : j + shape.n]
            for k in range(0, len(b), shape.k):
                tile[:] = golden.mma(
                    instruction,
                    a[i : i + shape.m, k : k + shape.k],
                    b[k : k + shape.k, j : j + shape.n],
                    tile,
                )
    return d


def operands(instruction, sizes, seed):
    random = np.random.default_rng(seed)
    m, n, k = (size * tile for size, tile in zip(sizes, instruction.shape, strict=True))
    a = matrix(random, instruction.a_type, (m, k))
    b = matrix(random, instruction.b_type, (k, n))
    c = matrix(random, instruction.c_type, (m, n))
    return (m, n, k), a, b, c


@pytest.mark.parametrize("with_c", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_every_family_and_size_is_a_chain_of_multiplies(name, sizes, with_c):
    instruction = resolve_instruction(INSTRUCTIONS[name])
    (m, n, k), a, b, c = operands(instruction, sizes, 5)
    if not with_c:
        c = np.zeros_like(c)
    gemm = Gemm(instruction=instruction, m=m, n=n, k=k)
    run = multiply_matrices(
        gemm, a, b, lambda size: open_machine(Backend.GOLDEN, STANDARD, size), c=c if with_c else None
    )
    np.testing.assert_array_equal(run.d, chained(instruction, a, b, c))


@pytest.mark.parametrize("name", ["s8", "s4"])
def test_integers_are_numpys(name):
    instruction = resolve_instruction(INSTRUCTIONS[name])
    (m, n, k), a, b, c = operands(instruction, (3, 4, 5), 6)
    gemm = Gemm(instruction=instruction, m=m, n=n, k=k)
    run = multiply_matrices(gemm, a, b, lambda size: open_machine(Backend.GOLDEN, STANDARD, size), c=c)
    np.testing.assert_array_equal(run.d, a.astype(np.int64) @ b.astype(np.int64) + c)


@pytest.mark.parametrize("registers", [104, 112, 128, 256])
def test_any_number_of_spare_registers(registers):
    instruction = resolve_instruction(INSTRUCTIONS["f16"])
    (m, n, k), a, b, c = operands(instruction, (4, 6, 2), 7)
    gemm = Gemm(instruction=instruction, m=m, n=n, k=k, registers=registers)
    config = PRESETS["large"]
    run = multiply_matrices(gemm, a, b, lambda size: open_machine(Backend.GOLDEN, config, size))
    np.testing.assert_array_equal(run.d, chained(instruction, a, b, np.zeros_like(c)))
    highest = max(command.d for command in gemm.commands(dict.fromkeys("abd", 0)) if isinstance(command, Mma))
    assert highest < registers - 8


@pytest.mark.parametrize("block", [(1, 1), (1, 2), (2, 1), (2, 3)])
def test_any_block(block):
    instruction = resolve_instruction(INSTRUCTIONS["bf16"])
    (m, n, k), a, b, c = operands(instruction, (3, 4, 2), 8)
    gemm = Gemm(instruction=instruction, m=m, n=n, k=k, block=block)
    run = multiply_matrices(gemm, a, b, lambda size: open_machine(Backend.GOLDEN, STANDARD, size), c=c)
    np.testing.assert_array_equal(run.d, chained(instruction, a, b, c))


@pytest.mark.parametrize("with_c", [False, True])
@pytest.mark.parametrize("preset", ["small", "standard"])
def test_the_core_gives_the_same(preset, with_c):
    config = PRESETS[preset]
    instruction = resolve_instruction(INSTRUCTIONS["f16"])
    (m, n, k), a, b, c = operands(instruction, (3, 3, 4), 9)
    if not with_c:
        c = np.zeros_like(c)
    block = (2, 2) if config.registers >= 128 else (1, 1)
    gemm = Gemm(instruction=instruction, m=m, n=n, k=k, registers=config.registers, block=block)
    run = multiply_matrices(
        gemm, a, b, lambda size: open_machine(Backend.RTL, config, size), c=c if with_c else None
    )
    np.testing.assert_array_equal(run.d, chained(instruction, a, b, c))
    assert run.execution.counters.instructions == sum(1 for _ in gemm.commands(dict.fromkeys("abcd", 0))) + (
        with_c * (9 - 1)
    )


def commands_of(sizes, **options):
    instruction = resolve_instruction(INSTRUCTIONS["f16"])
    m, n, k = (16 * size for size in sizes)
    gemm = Gemm(instruction=instruction, m=m, n=n, k=k, **options)
    return list(gemm.commands({"a": 0, "b": 1 << 20, "d": 1 << 21, "c": 1 << 22}))


def test_every_tile_is_loaded_multiplied_and_stored_as_often_as_it_must():
    commands = commands_of((8, 8, 8))
    kinds = Counter(type(command) for command in commands)
    assert kinds == {Fill: 1, Load: 16 * 8 * 4, Mma: 512, Store: 64}
    stored = [command.address for command in commands if isinstance(command, Store)]
    assert len(set(stored)) == 64


def test_loads_are_a_step_ahead_and_stores_a_multiply_behind():
    """Between what makes registers and what uses them there is always a multiply of something else."""
    commands = commands_of((8, 8, 8))
    multiplies = 0
    loaded, written = {}, {}
    for command in commands:
        if isinstance(command, Load):
            loaded[command.register] = multiplies
        elif isinstance(command, Mma):
            if multiplies >= 4:
                assert multiplies - loaded[command.a] >= 3
                assert multiplies - loaded[command.b] >= 3
                assert multiplies - written.get(command.c, -9) >= 4
            written[command.d] = multiplies
            multiplies += 1
        elif isinstance(command, Store) and multiplies < 512:
            assert multiplies - written[command.register] >= 4


def test_no_register_is_written_before_its_last_reader():
    """A load never replaces a fragment that a later multiply of the step before still wants."""
    commands = commands_of((4, 6, 3), with_c=True)
    content = {}
    size = fragment("a", "f16", resolve_instruction(INSTRUCTIONS["f16"]).shape).registers
    for command in commands:
        if isinstance(command, Load):
            content[command.register] = command
        elif isinstance(command, Mma):
            a, b = content[command.a], content[command.b]
            assert (a.instruction.use, b.instruction.use) == ("a", "b")
            # A's tile column is B's tile row: both are the same step along k.
            assert a.address // 32 % 3 == (b.address - (1 << 20)) // 32 % 3
            assert abs(command.a - command.b) >= size


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"m": 40}, r"^Size m must be a positive multiple of 16, not 40$"),
        ({"k": 0}, r"^Size k must be a positive multiple of 16, not 0$"),
        ({"block": (0, 2)}, r"^Block must have at least one tile each way, not \(0, 2\)$"),
        ({"registers": 64}, r"^Block must fit the registers: 2 x 2 tiles need 104, there are 64$"),
        (
            {"instruction": resolve_instruction("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16")},
            r"^Instruction must have one type for C and D, as D is the next C, not f16 and f32$",
        ),
        (
            {"instruction": resolve_instruction("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32")},
            r"^Instruction must be a wmma.mma, which has loads and stores, not mma\.",
        ),
    ],
)
def test_what_cannot_work_is_refused(options, message):
    standard = {"instruction": resolve_instruction(INSTRUCTIONS["f16"]), "m": 32, "n": 32, "k": 32}
    with pytest.raises(ValueError, match=message):
        Gemm(**{**standard, **options})
