"""Compiled and uncompiled, the same functions give the same bits; and the cache of what was compiled."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core import event

import golden
from golden.approximation.instructions import FORMS
from golden.approximation.operations import operation, scalar
from golden.arithmetic import engine
from golden.arithmetic.fdpa import (
    Operand,
    Pairs,
    decode_factors,
    dot_products,
)
from golden.arithmetic.fma import add, fused_multiply_add, multiply
from golden.arithmetic.integer import (
    OPERATIONS,
    PRODUCTS,
    WORD,
    count_bits,
    finish_integer,
    pack_bits,
    pack_row,
    sum_of_products,
)
from golden.arithmetic.round_pack import NEAREST, ROUNDINGS, convert
from golden.arithmetic.rules import fp8_halves, fused_format, fused_rules
from golden.invalid_argument import InvalidArgument
from golden.random_operands import random_operands
from golden.resolve import resolve_instruction
from golden.tables.formats import FORMATS, FloatFormat, float_format
from golden.tables.profiles import PROFILES

WMMA = "wmma.mma.sync.aligned.row.col"
F16 = float_format("f16")
FEW, MANY = 50_000, 10_000_000
"""Operands."""

MMA = "mma.sync.aligned"
FAMILIES = (
    *(f"{WMMA}.m16n16k16.{pair}" for pair in ("f32.f32", "f16.f16", "f32.f16", "f16.f32")),
    f"{WMMA}.m16n16k16.f32.bf16.bf16.f32",
    f"{WMMA}.m16n16k8.f32.tf32.tf32.f32",
    f"{MMA}.m16n8k32.row.col.f32.e4m3.e5m2.f32",
    f"{MMA}.m16n8k16.row.col.f16.e5m2.e4m3.f16",
    "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2",
    "wgmma.mma_async.sync.aligned.m64n8k32.f16.e5m2.e4m3",
    *(f"{WMMA}.m8n8k4.{mode}.f64.f64.f64.f64" for mode in ROUNDINGS),
    f"{WMMA}.m16n16k16.s32.s8.s8.s32",
    f"{WMMA}.m16n16k16.s32.u8.u8.s32.satfinite",
    *(f"wmma.mma.{o}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32" for o in ("xor", "and")),
)


def chained(a, b, c, formats, rules, block):
    """One element of D by the functions of the FDPA, as plain Python on lists."""
    blocks, length = -(-len(a) // block), rules.products

    def operand(elements, format):
        padded = [0] * (blocks * length)
        for k, bits in enumerate(elements):
            padded[k // block * length + k % block] = bits
        tables = padded[:], padded[:]
        decode_factors(padded, format, *tables, (0,))
        return Operand(
            *([[table[start : start + length] for start in range(0, len(table), length)]] for table in tables)
        )

    d = [c]
    pairs = Pairs([[list(range(length))]], [[0]], [[[0]]])
    room = [0], [0.0]
    dot_products(operand(a, formats[0]), 0, operand(b, formats[1]), 0, pairs, d, (0,), room, rules, False)
    return d[0]


def integers(a, b, c, operation, saturate):
    """One element of D."""
    total = 0
    size = WORD if operation else PRODUCTS
    for start in range(0, len(a), size):
        if operation:
            words = pack_row(a[start : start + size]), pack_bits(b[start : start + size], 1, 0)
            total = count_bits(total, *words, OPERATIONS.index(operation))
        else:
            total += sum_of_products(a, start, b, start, 1)
    return finish_integer(c + total, saturate)


def uncompiled(instruction, profile, a, b, c):
    """One element of D; a and b are lists."""
    a_format, b_format = FORMATS[instruction.a_type], FORMATS[instruction.b_type]
    if not isinstance(a_format, FloatFormat):
        return integers(a, b, c, instruction.operation, instruction.saturate)
    if a_format.bits == 64:
        for x, y in zip(a, b, strict=True):
            c = fused_multiply_add(x, y, c, a_format, ROUNDINGS.index(instruction.rounding or "rn"))
        return c
    c_format, d_format = float_format(instruction.c_type), float_format(instruction.d_type)
    if instruction.family.converted_to is not None:
        rules, block = fused_rules(F16, F16, d_format, profile, "mma")
        a, b = [convert(x, a_format, F16) for x in a], [convert(x, b_format, F16) for x in b]
        total = 0
        for half in fp8_halves(len(a)):
            total = chained([a[k] for k in half], [b[k] for k in half], total, (F16, F16), rules, block)
        return add(c, total, d_format, NEAREST)
    fused = fused_format(c_format, d_format)
    rules, block = fused_rules(a_format, b_format, fused, profile, instruction.mnemonic)
    c = c if c_format == fused else convert(c, c_format, fused)
    result = chained(a, b, c, (a_format, b_format), rules, block)
    return result if d_format == fused else convert(result, fused, d_format)


def compare(text, count, seed, profile="hopper"):
    """At least `count` operands: the elements of a row, of a column, and of C, for each result.

    Corners included: `random_operands` draws subnormals, extremes, specials and cancelling sums.
    """
    instruction = resolve_instruction(text)
    m, n, k = instruction.shape.m, instruction.shape.n, instruction.shape.k
    random = np.random.default_rng(seed)
    compared = 0
    while compared < count:
        a, b, c = random_operands(random, instruction, 36)
        d = golden.mma(instruction, a, b, c, profile=profile)
        for tile in range(len(d)):
            # A result of each row and of each column is enough of a tile: more tiles reach more corners.
            for i in range(min(m, n)):
                row, column = a[tile, i].tolist(), b[tile, :, i].tolist()
                wanted = uncompiled(instruction, PROFILES[profile], row, column, int(c[tile, i, i]))
                assert int(d[tile, i, i]) == wanted, (tile, i, row, column, int(c[tile, i, i]))
            compared += min(m, n) * (2 * k + 1)


@pytest.mark.parametrize("text", FAMILIES)
def test_compiled_equals_uncompiled(text):
    compare(text, FEW, 21)


@pytest.mark.parametrize("profile", [name for name in PROFILES if name != "hopper"])
@pytest.mark.parametrize("text", FAMILIES[:5])
def test_compiled_equals_uncompiled_of_other_generations(text, profile):
    compare(text, FEW // 5, 22, profile)


F32_ENDS = (0, 1, 0x7FFFFF, 0x800000, 0x3B7FFFFF, 0x3B800000, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x40800000)
F32_ENDS += (0x40FFFFFF, 0x41000000, 0x42FC0000, 0x42FC0001, 0x43000000, 0x7E800000, 0x7E800001, 0x7F7FFFFF)
F32_ENDS += (0x7F800000, 0x7F800001, 0x7FFFFFFF)


def approximate_operands(found, count, random):
    """The ends of intervals with either sign, in pairs for divisions, and random bit patterns."""
    if found.bits == 32:
        ends = [bits | sign for bits in F32_ENDS for sign in (0, 1 << 31)]
    else:
        half = found.bits // 2
        ends = [upper << half for upper in range(0, 1 << half, 0x0F if found.bits < 64 else 0x7FFFFF)]
    corners = list(itertools.product(ends, repeat=found.operands))
    drawn = random.integers(0, 1 << found.bits, (count, found.operands), f"u{found.bits // 8}").tolist()
    return [*corners, *map(tuple, drawn)]


def compare_approximate(text, count, seed):
    found = FORMS[text]
    operands = approximate_operands(found, count, np.random.default_rng(seed))
    columns = [np.array(column, f"u{found.bits // 8}") for column in zip(*operands, strict=True)]
    compiled = operation(text)(*columns).tolist()
    function, constants = scalar(found)
    for given, bits in zip(operands, compiled, strict=True):
        assert bits == function(*given, *constants), (text, [hex(x) for x in given], hex(bits))


ELEMENTS = [text for text, found in FORMS.items() if not found.packed]


@pytest.mark.parametrize("text", ELEMENTS)
def test_compiled_equals_uncompiled_of_approximate_functions(text):
    compare_approximate(text, FEW // 30, 24)


@pytest.mark.long
@pytest.mark.parametrize("text", ELEMENTS)
def test_compiled_equals_uncompiled_of_approximate_functions_ten_million_times(text):
    for seed in range(100):
        compare_approximate(text, MANY // 100, seed)


@pytest.mark.parametrize("format", ["f16", "f32", "f64"])
@pytest.mark.parametrize("rounding", range(len(ROUNDINGS)))
def test_a_sum_is_a_fused_multiply_add_by_one(format, rounding):
    format = float_format(format)
    one = format.bias << format.fraction_bits
    random = np.random.default_rng(25)
    for _ in range(FEW // 30):
        x, y = (int(bits) for bits in random.integers(0, 1 << format.bits, 2, f"u{format.bits // 8}"))
        near = (x + int(random.integers(-3, 3)) ^ 1 << format.bits - 1) & (1 << format.bits) - 1
        for other in (y, near, near ^ 3 << format.fraction_bits):
            assert add(x, other, format, rounding) == fused_multiply_add(x, one, other, format, rounding)
            if format.bits < 64:
                zero = (x ^ other) & 1 << format.bits - 1
                assert multiply(x, other, format, rounding) == fused_multiply_add(
                    x, other, zero, format, rounding
                )


@pytest.mark.long
@pytest.mark.parametrize("text", FAMILIES)
def test_compiled_equals_uncompiled_ten_million_times(text):
    compare(text, MANY, 23)


@pytest.mark.parametrize("tiles", [1, 15, 16, 17, 300])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("text", [FAMILIES[0], FAMILIES[6], FAMILIES[10], FAMILIES[14]])
def test_size_of_a_batch_and_threads_do_not_matter(text, tiles, threads):
    instruction = resolve_instruction(text)
    operands = random_operands(np.random.default_rng(9), instruction, tiles)
    found = golden.mma(instruction, *operands, threads=threads)
    last = golden.mma(instruction, *(operand[-1] for operand in operands))
    np.testing.assert_array_equal(found[-1], last)
    fortran = [np.asfortranarray(operand) for operand in operands]
    np.testing.assert_array_equal(golden.mma(instruction, *fortran, threads=threads), found)


@pytest.mark.parametrize("given", ["0", "many", "-1", "1.5"])
def test_threads_of_the_environment_are_checked(monkeypatch, given):
    monkeypatch.setenv(engine.THREADS_VARIABLE, given)
    with pytest.raises(InvalidArgument, match=f"^{engine.THREADS_VARIABLE}: got .*; allowed: "):
        engine.thread_count()
    monkeypatch.setenv(engine.THREADS_VARIABLE, "3")
    assert engine.thread_count() == 3
    assert engine.thread_count(2) == 2


PROGRAM = """
import numpy as np
from golden.arithmetic.arrays import elementwise
from golden.arithmetic.compiled import bit_length
print(elementwise(bit_length, (np.array([0, 1, 255]),), (), np.int64).tolist())
"""


TWO_SUMS = """
import numpy as np
from golden.arithmetic.arrays import add
from golden.tables.formats import float_format
one = np.array([0x3C00], np.uint16)
print([int(add(one, one, float_format(name))[0]) for name in ("f16", "bf16")])
"""
"""1 + 1 = 2 in f16; in bf16 the same bits are 2**-7, and the exponent is one higher."""


def start(cache, program=PROGRAM, *arguments):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    root = Path(golden.__file__).parents[1]
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def kept_files(folder):
    """A file written again is another one."""
    return {path: path.stat().st_ino for path in folder.rglob("*.nbc")}


@pytest.mark.parametrize("text", FAMILIES)
def test_operands_of_every_kind_are_computed_by_one_kernel(text):
    """Those that can be written or not, and parts of larger arrays."""
    made = random_operands(np.random.default_rng(4), resolve_instruction(text), 3)
    expected = golden.mma(text, *made)
    with event.install_recorder("numba:compile") as compiled:
        for number in range(1, 8):
            given = [np.repeat(x, 2, axis=-1)[..., ::2] if number >> i & 1 else x for i, x in enumerate(made)]
            np.testing.assert_array_equal(golden.mma(text, *given), expected)
            frozen = [x.copy() for x in made]
            for index, operand in enumerate(frozen):
                operand.flags.writeable = not number >> index & 1
            np.testing.assert_array_equal(golden.mma(text, *frozen), expected)
    assert not compiled.buffer


def test_two_processes_compile_at_once_and_a_third_finds_it(tmp_path):
    for process in (start(tmp_path), start(tmp_path)):
        assert process.communicate(timeout=120)[0] == "[0, 1, 8]\n"
    before = kept_files(tmp_path)
    assert before
    assert start(tmp_path).communicate(timeout=120)[0] == "[0, 1, 8]\n"
    assert kept_files(tmp_path) == before


MULTIPLY = """
import sys

import numpy as np
import golden
from golden.random_operands import random_operands
from golden.resolve import resolve_instruction

for text in sys.argv[1:]:
    operands = random_operands(np.random.default_rng(9), resolve_instruction(text), 40)
    print(golden.mma(text, *operands, threads=1).tobytes().hex())
"""


def test_what_other_processes_compiled_for_other_formats_is_not_taken_for_ones_own(tmp_path):
    """Each compiles first what it needs alone, so that numba counts the functions of each alike."""
    forms = [*FAMILIES[-2:], *FAMILIES[10:12]]
    alone = [start(tmp_path, MULTIPLY, form) for form in forms]
    expected = [process.communicate(timeout=240)[0] for process in alone]
    before = kept_files(tmp_path)
    together = start(tmp_path, MULTIPLY, *forms)
    assert together.communicate(timeout=240)[0] == "".join(expected)
    assert kept_files(tmp_path) == before
    assert len(set(expected)) == len(forms)


def swapped(files):
    contents = [file.read_bytes() for file in files]
    assert len(set(contents)) == len(contents) > 1
    for file, content in zip(files, contents[1:] + contents[:1], strict=True):
        file.write_bytes(content)


def one_bit_changed(files):
    for file in files:
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)


def test_a_damaged_or_swapped_file_is_compiled_anew(tmp_path):
    assert start(tmp_path, TWO_SUMS).communicate(timeout=120)[0] == "[16384, 15488]\n"
    for damage in (swapped, one_bit_changed):
        before = kept_files(tmp_path)
        damage(sorted(before))
        assert start(tmp_path, TWO_SUMS).communicate(timeout=120)[0] == "[16384, 15488]\n"
        assert all(path.stat().st_ino != number for path, number in before.items())


def test_without_a_folder_that_can_be_written_it_compiles_in_memory(tmp_path):
    (tmp_path / "file").write_text("no folder")
    process = start(tmp_path / "file")
    assert process.communicate(timeout=120)[0] == "[0, 1, 8]\n"
    assert process.returncode == 0


def test_another_version_has_a_folder_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setattr(engine.numba_config, "CACHE_DIR", str(tmp_path))
    found = set()
    for version in ("1", "2"):
        monkeypatch.setattr(engine.numba, "__version__", version)
        engine._folder.cache_clear()
        found.add(engine._folder())
    engine._folder.cache_clear()
    assert len(found) == 2


BROADCAST = """
import numpy as np
from golden.arithmetic.arrays import add
from golden.tables.formats import float_format

x = np.array([3], np.uint32)
for shape in ((), (1,), (1, 1), (5,), (2, 5)):
    found = add(x, np.ones(shape, np.uint32), float_format("f32"))
    assert found.shape == np.broadcast_shapes((1,), shape) and (found == 4).all()
"""


def test_operands_broadcast_without_a_warning():
    """In a process of its own, since only the first call of a kernel looks at an array's flags."""
    subprocess.run([sys.executable, "-W", "error", "-c", BROADCAST], check=True)
