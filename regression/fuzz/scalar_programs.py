"""Kind ``valid``: legal scalar programs, whose results Python's integers and numpy's floats give."""

import json
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any, Final

import numpy as np

from golden.simt.device_memory import DeviceMemory
from golden.simt.module import Module
from regression.fuzz.kind import Files, Kind, PropertyError
from regression.fuzz.values import HEADER

THREADS: Final = 4

_CORNERS: Final = (
    *(0, 1, 2, 3, 7, 31, 32, 63, 64),
    *(0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000),
)
_REGISTERS: Final = {16: "%h", 32: "%r", 64: "%d"}
_SIGNED_OR_NOT: Final = tuple(f"{sign}{bits}" for sign in "su" for bits in (16, 32, 64))

Operation = Callable[..., int]


def signed(value: int, bits: int) -> int:
    """The number that the lowest bits stand for in two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _value(type_: str, pattern: int) -> int:
    """The number that a bit pattern stands for; a count that is no register stands for itself."""
    bits = 64 if type_ == "i" else int(type_[1:])
    return signed(pattern, bits) if type_[0] == "s" else pattern & ((1 << bits) - 1)


def _saturated(type_: str, value: int) -> int:
    """The number of a type that is nearest."""
    bits, is_signed = int(type_[1:]), type_[0] == "s"
    return min(max(value, -(1 << bits - 1) if is_signed else 0), (1 << bits - is_signed) - 1)


def _quotient(a: int, b: int) -> int:
    return -(-a // b) if (a < 0) != (b < 0) and a % b else a // b


def _field(type_: str, value: int, start: int, length: int) -> int:
    """``bfe``: a field of the bits, and past the end the sign."""
    bits = int(type_[1:])
    if bits == 32:
        start, length = start & 255, length & 255  # 64 bits count in full, as on the chip
    field, length = value >> start, min(length, 64)
    return signed(field, length) if type_[0] == "s" and length else field & (1 << length) - 1


def _float(operation: Callable[..., Any]) -> Operation:
    """An operation of numpy's f32 on bit patterns; every NaN is 0x7fffffff."""

    def on_bits(*patterns: int) -> int:
        with np.errstate(all="ignore"):
            found = operation(*np.array(patterns, np.uint32).view(np.float32))
        return 0x7FFFFFFF if np.isnan(found) else int(np.float32(found).view(np.uint32))

    return on_bits


def _operations() -> dict[str, tuple[str, str, Operation]]:
    """By mnemonic: type of the result, types of the operands (i: a count that is no register), the values."""
    found: dict[str, tuple[str, str, Operation]] = {}
    for type_ in _SIGNED_OR_NOT:
        bits = int(type_[1:])
        pair, triple = f"{type_} {type_}", f"{type_} {type_} {type_}"
        found |= {
            f"add.{type_}": (type_, pair, lambda a, b: a + b),
            f"sub.{type_}": (type_, pair, lambda a, b: a - b),
            f"mul.lo.{type_}": (type_, pair, lambda a, b: a * b),
            f"mul.hi.{type_}": (type_, pair, lambda a, b, bits=bits: a * b >> bits),
            f"mad.lo.{type_}": (type_, triple, lambda a, b, c: a * b + c),
            f"mad.hi.{type_}": (type_, triple, lambda a, b, c, bits=bits: (a * b >> bits) + c),
            f"min.{type_}": (type_, pair, min),
            f"max.{type_}": (type_, pair, max),
            f"sad.{type_}": (type_, triple, lambda a, b, c: c + abs(a - b)),
            f"div.{type_}": (type_, f"{type_} i", _quotient),
            f"rem.{type_}": (type_, f"{type_} i", lambda a, b: a - b * _quotient(a, b)),
            f"shr.{type_}": (type_, f"{type_} u32", lambda a, n: a >> n),
        }
        if bits < 64:
            wide = f"{type_[0]}{2 * bits}"
            found[f"mul.wide.{type_}"] = (wide, pair, lambda a, b: a * b)
            found[f"mad.wide.{type_}"] = (wide, f"{pair} {wide}", lambda a, b, c: a * b + c)
        if bits > 16:
            fields = f"{type_} u32 u32"
            found[f"bfe.{type_}"] = (type_, fields, lambda a, s, n, t=type_: _field(t, a, s, n))
        for other in _SIGNED_OR_NOT:
            found[f"cvt.{other}.{type_}"] = (other, type_, lambda a: a)
            ends = signed(1 << bits - 1, bits) if type_[0] == "s" else 0, (1 << bits - (type_[0] == "s")) - 1
            if any(_saturated(other, end) != end for end in ends):  # else .sat is refused: nothing saturates
                found[f"cvt.sat.{other}.{type_}"] = (other, type_, partial(_saturated, other))
    found["add.sat.s32"] = ("s32", "s32 s32", lambda a, b: _saturated("s32", a + b))
    found["sub.sat.s32"] = ("s32", "s32 s32", lambda a, b: _saturated("s32", a - b))
    for bits in (16, 32, 64):
        b, s = f"b{bits}", f"s{bits}"
        found |= {
            f"and.{b}": (b, f"{b} {b}", lambda x, y: x & y),
            f"or.{b}": (b, f"{b} {b}", lambda x, y: x | y),
            f"xor.{b}": (b, f"{b} {b}", lambda x, y: x ^ y),
            f"not.{b}": (b, b, lambda x: ~x),
            f"cnot.{b}": (b, b, lambda x: int(x == 0)),
            f"shl.{b}": (b, f"{b} u32", lambda x, n: x << min(n, 64)),
            f"neg.{s}": (s, s, lambda x: -x),
            f"abs.{s}": (s, s, abs),
        }
        if bits > 16:
            found |= {
                f"popc.{b}": ("u32", b, int.bit_count),
                f"clz.{b}": ("u32", b, partial(lambda bits, x: bits - x.bit_length(), bits)),
                f"brev.{b}": (b, b, partial(lambda bits, x: int(f"{x:0{bits}b}"[::-1], 2), bits)),
            }
    two = {"add.rn": np.add, "sub.rn": np.subtract, "mul.rn": np.multiply, "div.rn": np.divide}
    for mnemonic, of_two in two.items():
        found[f"{mnemonic}.f32"] = ("b32", "b32 b32", _float(of_two))
    found |= {"sqrt.rn.f32": ("b32", "b32", _float(np.sqrt)), "abs.f32": ("b32", "b32", _float(np.abs))}
    return found


OPERATIONS: Final = _operations()


def evaluate(mnemonic: str, *patterns: int) -> int:
    """The bit pattern that an instruction makes of those in registers."""
    result, types, operation = OPERATIONS[mnemonic]
    values = (_value(type_, pattern) for type_, pattern in zip(types.split(), patterns, strict=True))
    return operation(*values) & (1 << int(result[1:])) - 1


def _make(random: Random) -> Files:
    registers: dict[int, list[str]] = {16: [], 32: [], 64: []}
    values: dict[str, list[int]] = {}
    lines: list[str] = []
    expected: list[list[int]] = []
    inputs: list[list[int]] = []

    def new(bits: int, patterns: list[int]) -> str:
        name = f"{_REGISTERS[bits]}{len(registers[bits])}"
        registers[bits].append(name)
        values[name] = [pattern & ((1 << bits) - 1) for pattern in patterns]
        return name

    for bits in (16, 32, 64):
        for _ in range(3):
            patterns = [
                random.choice((random.choice(_CORNERS), -random.choice(_CORNERS), random.getrandbits(bits)))
                for _ in range(THREADS)
            ]
            name = new(bits, patterns)
            lines.append(f"ld.global.u{bits} {name}, [%in+{8 * len(inputs)}];")
            inputs.append([pattern & ((1 << 64) - 1) for pattern in patterns])
    for _ in range(random.randrange(1, 16)):
        mnemonic = random.choice(list(OPERATIONS))
        result, types, _ = OPERATIONS[mnemonic]
        operands: list[tuple[str, list[int]]] = []
        for type_ in types.split():
            if type_ == "i" or (type_ != "b32" and random.random() < 0.1):
                number = random.choice((1, 2, 3, 5, 7, 10, 100))
                operands.append((str(number), [number] * THREADS))
            else:
                name = random.choice(registers[int(type_[1:])])
                operands.append((name, values[name]))
        written, columns = zip(*operands, strict=True)
        target = new(int(result[1:]), [evaluate(mnemonic, *row) for row in zip(*columns, strict=True)])
        lines.append(f"{mnemonic} {target}, {', '.join(written)};")
        lines.append(f"st.global.u{result[1:]} [%out+{8 * len(expected)}], {target};")
        expected.append(values[target])
    declared = " ".join(f".reg .b{bits} {name}<{len(registers[bits])}>;" for bits, name in _REGISTERS.items())
    body = "\n".join(lines)
    text = f"""{HEADER}.entry k(.param .u64 in, .param .u64 out) {{
{declared} .reg .b64 %in, %out, %step; .reg .b32 %tid;
mov.u32 %tid, %tid.x; mul.wide.u32 %step, %tid, {8 * max(len(inputs), len(expected))};
ld.param.u64 %in, [in]; add.u64 %in, %in, %step; ld.param.u64 %out, [out]; add.u64 %out, %out, %step;
{body}
ret;
}}
"""
    return {"kernel.ptx": text.encode(), "values.json": json.dumps([inputs, expected]).encode()}


def _run(files: Files) -> Any:
    text = files["kernel.ptx"].decode()
    inputs, expected = json.loads(files["values.json"])
    width = max(len(inputs), len(expected))
    given, got = np.zeros((THREADS, width), np.uint64), np.zeros((THREADS, width), np.uint64)
    given[:, : len(inputs)] = np.array(inputs, np.uint64).T
    Module(text, "kernel.ptx", memory=DeviceMemory()).kernel().launch(1, THREADS, [given, got])
    instructions = [line for line, after in pairwise(text.splitlines()) if after.startswith("st.global")]
    for place, (row, instruction) in enumerate(zip(expected, instructions, strict=True)):
        for thread, want in enumerate(row):
            if int(got[thread, place]) != want:
                seen = f"{instruction} gives {int(got[thread, place]):#x} in thread {thread}, not {want:#x}"
                raise PropertyError(f"{instruction.split()[0]} gives the result of the manual", seen)
    return got


SCALAR_PROGRAMS: Final = Kind(make=_make, run=_run, errors=(), pieces=None)
