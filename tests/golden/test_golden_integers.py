"""Integers of callers: every entrance takes all kinds of them, and refuses what is none in one sentence."""

import sys

import numpy as np
import pytest

import golden
import openwmma
from golden.integers import checked_integer, integer_of, listed, parsed_integer, shortened
from golden.invalid_argument import InvalidArgument
from golden.programs.tiles import multiply_tiles
from golden.resolve import resolve_instruction
from golden.warp import GoldenMachine
from hdl.config import CoreConfig, DotProductConfig
from openwmma import wmma

HUGE = 10**6000
NO_INTEGERS = [1.5, "64", None, True, np.bool_(True), np.float64(64), np.timedelta64(64), 1j, b"64", [64], {}]
INTEGERS = [int, np.int16, np.uint64, np.array, lambda value: np.array(value, ">u4")]
PARSED = resolve_instruction("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32")
S8 = "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32"


def kind(value):
    return type(value).__name__


def machine(size):
    return GoldenMachine(memory=openwmma.Memory(size))


def tiles(**options):
    zeros = np.zeros((16, 16), np.float16)
    return multiply_tiles(
        PARSED,
        (zeros, zeros, zeros.astype(np.float32)),
        lambda size: GoldenMachine(memory=openwmma.Memory(size, 4096)),
        **options,
    )


SQUARE = np.ones((64, 64), np.float16)
LONG = np.broadcast_to(np.float16(1), (1 << 40, 1))


def matmul(**options):
    return openwmma.matmul(SQUARE, SQUARE, **options)


def in_warp(call):
    def run(value):
        with wmma.warp():
            call(value)

    return run


def load(value):
    fragment = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
    wmma.load_matrix_sync(fragment, np.zeros(64 * 64, np.float16), value)


ENTRANCES = {
    "memory size": (openwmma.Memory, 64),
    "memory base": (lambda value: openwmma.Memory(64, value), 4096),
    "registers": (lambda value: GoldenMachine(memory=openwmma.Memory(64), registers=value), 64),
    "address bits": (lambda value: GoldenMachine(memory=openwmma.Memory(64), address_bits=value), 64),
    "size of a multiply": (lambda value: openwmma.Gemm(instruction=PARSED, m=value, n=64, k=64), 64),
    "registers of tiles": (lambda value: tiles(registers=value), 64),
    "memory of tiles": (lambda value: tiles(memory_bytes=value), 1 << 13),
    "size of a buffer": (openwmma.empty, 64),
    "parts of k": (lambda value: matmul(split_k=value), 64),
    "threads": (lambda value: matmul(threads=value), 64),
    "address in memory": (lambda value: openwmma.Memory(4096).read(value, 1), 64),
    "count in memory": (lambda value: openwmma.Memory(4096).read(0, value), 64),
    "address of a buffer": (lambda value: openwmma.device([1], address=value), 64),
    "registers of a core": (lambda value: CoreConfig(registers=value), 64),
    "shared bytes of a core": (lambda value: CoreConfig(shared_bytes=value), 4096),
    "memory of a warp": (lambda value: wmma.warp(memory_bytes=value), 4096),
    "baud": (lambda value: wmma.warp(baud=value), 64),
    "fragment": (in_warp(lambda m: wmma.fragment(wmma.accumulator, m, 16, 16, wmma.float32)), 16),
    "ldm": (in_warp(load), 64),
    "configuration": (lambda value: wmma.warp(config={"registers": value}), 64),
    "element": (lambda value: golden.explain(S8, [1] * 16, [1] * 16, value), 64),
}


@pytest.mark.parametrize("name", ENTRANCES)
@pytest.mark.parametrize("wrap", INTEGERS, ids=["int", "int16", "uint64", "array", "big-endian"])
def test_every_kind_of_integer_is_taken(name, wrap):
    call, value = ENTRANCES[name]
    call(wrap(value))


@pytest.mark.parametrize("name", ENTRANCES)
@pytest.mark.parametrize("value", [*NO_INTEGERS, HUGE, -HUGE, -1], ids=kind)
def test_what_is_no_integer_is_refused_in_one_sentence(name, value):
    if isinstance(value, list) and name == "size of a buffer":
        return  # a shape
    if (name, value) == ("configuration", "64") or (name == "memory of tiles" and value is None):
        return  # the spelling of the command line; no limit
    if name in ("parts of k", "threads") and value is HUGE:
        return  # as many as there are
    if name == "parts of k" and value == [64]:
        return  # one part
    if name in ("memory of a warp", "ldm", "element", "threads") and value is None:
        return  # the default
    if name == "address of a buffer" and (value is None or value is HUGE):
        return  # any address; one where there is no room
    if (name == "element" and value == -1) or (name == "memory of tiles" and value is HUGE):
        return  # an element of s32; all that there may be
    call, _ = ENTRANCES[name]
    with pytest.raises(ValueError, match=r"\w") as caught:
        call(value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


PROGRAM = ".version 8.0 .target sm_90 .entry k(.param .u64 a) { ret; }"
BUFFER = openwmma.device(np.zeros(4, np.float16))
OBJECTS = {
    "type of a": lambda value: matmul(a_type=value),
    "type of a product": lambda value: matmul(d_type=value),
    "accumulation": lambda value: matmul(accumulation=value),
    "profile of a product": lambda value: matmul(profile=value),
    "observed product": lambda value: openwmma.match_matmul(SQUARE, SQUARE, value),
    "product beyond all memory": lambda value: openwmma.matmul(LONG, LONG.T),
    "values of a memory": lambda value: openwmma.Memory(4096).write(0, value),
    "memory of a machine": lambda value: GoldenMachine(memory=value),
    "shared memory": lambda value: GoldenMachine(memory=openwmma.Memory(64), shared=value),
    "formats": lambda value: GoldenMachine(memory=openwmma.Memory(64), formats=value),
    "families": lambda value: GoldenMachine(memory=openwmma.Memory(64), families=[value]),
    "profile": lambda value: GoldenMachine(memory=openwmma.Memory(64), profile=value),
    "arguments": lambda value: openwmma.Module(PROGRAM + "\n").kernel().launch(1, 32, value),
    "operands": lambda value: multiply_tiles(PARSED, value, machine),
    "instruction of tiles": lambda value: multiply_tiles(value, (1, 2, 3), machine),
    "unit of a core": lambda value: CoreConfig(dot_product=value),
    "formats of a unit": lambda value: DotProductConfig(formats=value),
    "profile of a unit": lambda value: DotProductConfig(profile=value),
    "compiler's options": lambda value: openwmma.Module(PROGRAM + "\n", compile_options=value),
    "name of a module": lambda value: openwmma.Module(PROGRAM + "\n", name=value),
    "name of a buffer": lambda value: openwmma.empty(3, name=value),
    "C or none": lambda value: openwmma.Gemm(instruction=PARSED, m=16, n=16, k=16, with_c=value),
    "bytes of a type": lambda value: openwmma.empty(3, np.dtype({"names": [], "formats": []})),
    "values of a buffer": lambda value: BUFFER.write([1e6, 1, 1, 1]),
}


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize(
    "value", [5, 1.5, object(), [[1]], np.zeros(()), np.zeros((2, 2)), machine], ids=kind
)
def test_objects_of_another_class_are_refused_in_one_sentence(name, value):
    with pytest.raises((ValueError, TypeError), match=r"\w") as caught:
        OBJECTS[name](value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "value", [0, 7, -7, 1 << 200, -HUGE, np.int8(-3), np.array(9), np.array(9, ">u2")], ids=kind
)
def test_integers(value):
    assert integer_of(value) == int(value)
    assert listed(value) == [value]
    assert checked_integer("x", value, -HUGE) == int(value)


@pytest.mark.parametrize("value", NO_INTEGERS, ids=kind)
def test_no_integers(value):
    assert integer_of(value) is None
    with pytest.raises(InvalidArgument, match=r"^x: got .* of type \w+; allowed: an integer, 1 to 2$"):
        checked_integer("x", value, 1, 2)


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), (" 12 ", 12), ("-0x1F", -31), ("0b11", 3), ("1_000", 1000), ("0o17", 15), ("+5", 5),
     ("0x" + "f" * 5000, int("f" * 5000, 16)), ("9" * 4000, int("9" * 4000))],
    ids=lambda item: str(item)[:12] if not isinstance(item, int) else "",
)  # fmt: skip
def test_texts_of_integers(text, number):
    assert parsed_integer(text) == number


@pytest.mark.parametrize("text", ["", "x", "1.5", "1e3", "0x", "08", "1__0", "_1", "١٢٣٤", "inf", "0xg"])
def test_texts_of_none(text):
    assert parsed_integer(text) is None


def test_a_text_of_thousands_of_digits_is_a_number_that_nobody_has():
    for text in ("9" * 5000, "-" + "9" * 5000, "9" * (sys.get_int_max_str_digits() + 1)):
        with pytest.raises(OverflowError, match=r"^a number of \d+ digits$"):
            parsed_integer(text)


@pytest.mark.parametrize(
    "value", [HUGE, [HUGE], "x" * 10**6, "a\nb", np.zeros(9999), {"a": "b" * 99}], ids=kind
)
def test_values_in_messages_are_short(value):
    text = shortened(value)
    assert "\n" not in text
    assert len(text) <= 60


def test_spans_of_time_are_no_integers():
    zeros = np.zeros((16, 16), "m8[s]")
    with pytest.raises(InvalidArgument, match=r"a: got dtype timedelta64\[s\]; allowed: any integer dtype"):
        golden.mma(S8, zeros, zeros, np.zeros((16, 16), np.int32))


def test_a_memory_beyond_that_of_the_host_is_refused(monkeypatch):
    def no_memory(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("golden.memory.np.zeros", no_memory)
    with pytest.raises(InvalidArgument, match=r"^memory size: got 64; allowed: bytes that the host"):
        openwmma.Memory(64)
