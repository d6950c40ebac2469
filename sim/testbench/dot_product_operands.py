"""Operations of the dot-product unit as arrays: packing, random operands, and the results golden expects."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.integer_tiles import integer_tiles
from golden.arithmetic.tiles import float_tiles
from golden.tables.formats import FORMATS, FloatFormat, float_format
from golden.tables.instruction_set import multiplicand_formats
from golden.tables.profiles import HOPPER, Profile
from hdl.dot_product.operands import Multiplicand, Operation, Result

F32 = FORMATS["f32"]
WORDS = 18


@dataclass(frozen=True, kw_only=True)
class Mode:
    """One kind of operation."""

    a_type: str
    b_type: str
    c_type: str
    d_type: str
    """PTX types."""
    saturate: bool = False
    operation: str | None = None
    """Single bits: ``"xor"`` or ``"and"``."""

    @property
    def format(self) -> str:
        """The name in `DotProductConfig.formats`."""
        (name,) = multiplicand_formats((self.a_type,))
        return name

    def products(self, profile: Profile) -> int:
        """How many products one operation has."""
        format = FORMATS[self.a_type]
        if isinstance(format, FloatFormat):
            # A unit has room for the longest block, in mma; shorter ones are filled up with zeros.
            block = profile.block(format, "mma")
            assert block is not None
            return block
        return {8: 16, 4: 32, 1: 128}[format.bits]

    def code(self) -> int:
        """The bits of `hdl.dot_product.operands.Operation`."""
        result = Result.F32
        if self.d_type == "f16":
            result = Result.F16 if self.c_type == "f16" else Result.F16_FROM_F32
        code: int = Operation.const(
            {
                "multiplicand": Multiplicand[self.format.upper()],
                "result": result,
                "c_is_f16": self.c_type == "f16",
                "saturate": self.saturate,
                "a_signed": self.a_type.startswith("s"),
                "b_signed": self.b_type.startswith("s"),
                "bitwise_and": self.operation == "and",
                "a_e5m2": self.a_type == "e5m2",
                "b_e5m2": self.b_type == "e5m2",
            }
        ).as_bits()
        return code


def _modes() -> tuple[Mode, ...]:
    floats = [("f16", c, d) for c in ("f16", "f32") for d in ("f16", "f32")]
    floats += [("bf16", "f32", "f32"), ("tf32", "f32", "f32")]
    modes = [
        Mode(a_type=t, b_type=t, c_type=c, d_type=d, saturate=s) for t, c, d in floats for s in (False, True)
    ]
    for types in (("s8", "u8"), ("s4", "u4")):
        modes += [
            Mode(a_type=a, b_type=b, c_type="s32", d_type="s32", saturate=s)
            for a in types
            for b in types
            for s in (False, True)
        ]
    modes += [Mode(a_type="b1", b_type="b1", c_type="s32", d_type="s32", operation=o) for o in ("xor", "and")]
    return tuple(modes)


MODES = _modes()
"""Everything a unit without fp8 can be asked."""

FP8_MODES = tuple(
    Mode(a_type=a, b_type=b, c_type=d, d_type=d)
    for a in ("e4m3", "e5m2")
    for b in ("e4m3", "e5m2")
    for d in ("f32", "f16")
)
"""What a unit with fp8 can be asked besides."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Operations of one mode."""

    mode: Mode
    a: NDArray[Any]
    b: NDArray[Any]
    """Bit patterns in unsigned integers; integers as values. Shape (count, products)."""
    c: NDArray[Any]
    """Bit patterns, or int32, shape (count,)."""

    def pack(self) -> NDArray[np.uint32]:
        """The bits of `hdl.dot_product.operands.DotProductOperands`, shape (count, 18)."""
        words = np.zeros((len(self.a), WORDS), dtype=np.uint32)
        words[:, 0:8] = _pack_elements(self.a, FORMATS[self.mode.a_type].bits)
        words[:, 8:16] = _pack_elements(self.b, FORMATS[self.mode.b_type].bits)
        words[:, 16] = self.c.astype(np.int64) & 0xFFFFFFFF
        words[:, 17] = self.mode.code()
        return words

    def expected(self, profile: Profile = HOPPER) -> NDArray[np.uint32]:
        """What golden says, shape (count,)."""
        mode = self.mode
        a, b, c = self.a[:, None, :], self.b[:, :, None], self.c[:, None, None]
        if not isinstance(FORMATS[mode.a_type], FloatFormat):
            sums = integer_tiles(a, b, c, operation=mode.operation, satfinite=mode.saturate)
            return sums[:, 0, 0].view(np.uint32)
        a_format, b_format = float_format(mode.a_type), float_format(mode.b_type)
        formats = a_format, b_format, float_format(mode.c_type), float_format(mode.d_type)
        result = float_tiles(
            a,
            b,
            c,
            formats=formats,
            profile=profile,
            mnemonic="wgmma" if mode.format == "fp8" else "mma",
            satf=mode.saturate,
        )
        bits: NDArray[np.uint32] = result[:, 0, 0].astype(np.uint32)
        return bits

    def take(self, chosen: Any) -> "Batch":
        """Some of the operations."""
        return replace(self, a=self.a[chosen], b=self.b[chosen], c=self.c[chosen])


def _pack_elements(values: NDArray[Any], bits: int) -> NDArray[np.uint32]:
    """Elements into 256 bits, ascending from the low ones; missing ones are zero."""
    raw = values.astype(np.int64).astype(np.uint64) & np.uint64((1 << bits) - 1)
    per_word = 32 // bits
    padded = np.zeros((len(values), 8 * per_word), dtype=np.uint64)
    padded[:, : raw.shape[1]] = raw
    shifts = (np.arange(per_word) * bits).astype(np.uint64)
    words = padded.reshape(len(values), 8, per_word) << shifts
    packed: NDArray[np.uint32] = np.bitwise_or.reduce(words, axis=2).astype(np.uint32)
    return packed


KINDS = ("bits", "near", "cancel", "spread", "tiny", "edge", "special", "sparse", "huge", "tie")
"""Distributions of floating-point operands."""


def _floats(
    rng: np.random.Generator, format: FloatFormat, shape: tuple[int, ...], low: int, high: int
) -> NDArray[np.uint32]:
    """Random sign and fraction, biased exponents from `low` to `high` inside the finite range."""
    top = (1 << format.exponent_bits) - 2
    exponent = rng.integers(max(low, 0), min(high, top) + 1, shape)
    fraction = rng.integers(0, 1 << format.fraction_bits, shape)
    sign = rng.integers(0, 2, shape)
    word = (sign << (format.bits - 1)) | (
        ((exponent << format.fraction_bits) | fraction) << format.ignored_bits
    )
    return word.astype(np.uint32)


def _edges(format: FloatFormat) -> NDArray[np.uint32]:
    one = format.bias << format.fraction_bits
    least = 1 << format.fraction_bits
    largest = format.infinity >> format.ignored_bits
    magnitudes = [0, 1, 2, least - 1, least, least + 1, one - 1, one, one + 1, largest - 1, largest - least]
    magnitudes += [one + least, one - least, largest, largest + 1, largest + (least >> 1)]
    values = [m << format.ignored_bits for m in magnitudes]
    return np.array(values + [v | format.sign_mask for v in values], dtype=np.uint32)


def _finite_edges(format: FloatFormat) -> NDArray[np.uint32]:
    edges = _edges(format)
    return edges[(edges & ~np.uint32(format.sign_mask)) < format.infinity]


def _powers(format: FloatFormat, exponents: NDArray[np.int64]) -> NDArray[np.int64]:
    """The bits of ``2**exponents``, or of the nearest power of two that is normal and finite."""
    biased = np.clip(exponents + format.bias, 1, (1 << format.exponent_bits) - 2)
    return biased << (format.fraction_bits + format.ignored_bits)


def _random_floats(
    rng: np.random.Generator, mode: Mode, kind: str, count: int, products: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    format, b_format, c_format = FORMATS[mode.a_type], FORMATS[mode.b_type], FORMATS[mode.c_type]
    assert isinstance(format, FloatFormat)
    assert isinstance(b_format, FloatFormat)
    assert isinstance(c_format, FloatFormat)
    shape = (count, products)
    bias, c_bias = format.bias, c_format.bias
    whole = (0, 1 << format.exponent_bits)
    c_whole = (0, 1 << c_format.exponent_bits)
    b_above = b_format.bias - bias

    def draw(
        a_range: tuple[int, int], b_range: tuple[int, int], c_range: tuple[int, int]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        return (
            _floats(rng, format, shape, *a_range),
            _floats(rng, b_format, shape, b_range[0] + b_above, max(b_range[1] + b_above, 1)),
            _floats(rng, c_format, (count,), *c_range),
        )

    if kind == "near":
        return draw((bias - 3, bias + 2), (bias - 3, bias + 2), (c_bias - 4, c_bias + 4))
    if kind == "spread":
        return draw((bias - 13, bias + 13), (bias - 13, bias + 13), (c_bias - 24, c_bias + 24))
    if kind == "tiny":
        least = 2 if format.exponent_bits < 8 else bias - 84
        center = 1 if format.exponent_bits < 8 else bias - 64
        a, b, c = draw((0, least), (max(center - 14, 0), center + 3), (0, 14))
        if b_format == format:
            flipped = rng.random(count) < 0.5
            a[flipped], b[flipped] = b[flipped].copy(), a[flipped].copy()
        return a, b, c
    if kind == "huge":
        top = (1 << format.exponent_bits) - 2
        half = (top + bias) // 2
        return draw((half - 2, half + 2), (half - 2, half + 2), (c_whole[1] - 6, c_whole[1]))
    if kind in ("edge", "special"):
        edges = _finite_edges if kind == "edge" else _edges
        c_choices = edges(c_format)
        a, b, c = draw((bias - 2, bias + 2), (bias - 2, bias + 2), (c_bias - 4, c_bias + 4))
        share = 0.3 if kind == "edge" else 0.04
        for operand, its in ((a, format), (b, b_format)):
            replaced = rng.random(shape) < share
            operand[replaced] = rng.choice(edges(its), replaced.sum())
        replaced = rng.random(count) < share
        c[replaced] = rng.choice(c_choices, replaced.sum())
        return a, b, c
    if kind == "sparse":
        a, b, c = draw(whole, whole, c_whole)
        a[rng.random(shape) < 0.85] &= np.uint32(format.sign_mask)
        c[rng.random(count) < 0.5] &= np.uint32(c_format.sign_mask)
        return a, b, c
    if kind == "tie":
        # C is an f16; one product is half its last place, another lies just above or below f32's last place.
        exponent = rng.integers(-4, 8, count)
        last = rng.integers(9, 24, count)
        c = (exponent + c_bias) << c_format.fraction_bits | (
            rng.integers(0, 1 << 10, count) << (c_format.fraction_bits - 10)
        )
        c |= rng.integers(0, 2, count) << (c_format.bits - 1)
        a, b = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for column, power in ((0, exponent - 11), (1, exponent - 11 - last)):
            sign = rng.integers(0, 2, count) << (format.bits - 1)
            a[:, column] = _powers(format, power // 2) | sign
            b[:, column] = _powers(b_format, power - power // 2)
        order = rng.permuted(np.tile(np.arange(products), (count, 1)), axis=1)
        a, b = (np.take_along_axis(operand, order, 1).astype(np.uint32) for operand in (a, b))
        return a, b, c.astype(np.uint32)
    if kind == "cancel":
        a, b, c = draw((bias - 6, bias + 6), (bias - 6, bias + 6), (c_bias - 30, c_bias + 6))
        pairs = products // 2
        a[:, pairs : 2 * pairs] = a[:, :pairs]
        b[:, pairs : 2 * pairs] = b[:, :pairs] ^ np.uint32(b_format.sign_mask)
        ulp = 1 << b_format.ignored_bits
        nudged = rng.random((count, pairs)) < 0.3
        b[:, :pairs] ^= np.where(nudged, ulp, 0).astype(np.uint32)
        c[rng.random(count) < 0.4] &= np.uint32(c_format.sign_mask)
        order = rng.permuted(np.tile(np.arange(products), (count, 1)), axis=1)
        return np.take_along_axis(a, order, 1), np.take_along_axis(b, order, 1), c
    assert kind == "bits"
    a = rng.integers(0, 1 << format.bits, shape, dtype=np.uint64).astype(np.uint32)
    b = rng.integers(0, 1 << b_format.bits, shape, dtype=np.uint64).astype(np.uint32)
    c = rng.integers(0, 1 << c_format.bits, count, dtype=np.uint64).astype(np.uint32)
    # All-random bits are nearly always NaN or Inf somewhere; most rows get finite operands.
    finite = rng.random(count) < 0.9
    for operand, its in ((a, format), (b, b_format)):
        special = (operand & its.infinity) == its.infinity
        operand[special & finite[:, None]] &= np.uint32(
            ~(1 << (its.fraction_bits + its.ignored_bits)) & 0xFFFFFFFF
        )
    return a, b, c


def _random_integers(
    rng: np.random.Generator, mode: Mode, count: int, products: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    operands = []
    extreme = rng.random((count, 1)) < 0.3
    for name in (mode.a_type, mode.b_type):
        format = FORMATS[name]
        assert not isinstance(format, FloatFormat)
        values = rng.integers(format.minimum, format.maximum + 1, (count, products))
        ends = np.where(
            rng.random((count, products)) < rng.random((count, 1)), format.minimum, format.maximum
        )
        operands.append(np.where(extreme, ends, values))
    c = rng.integers(-(1 << 31), 1 << 31, count)
    near = rng.integers(-(1 << 21), 1 << 21, count)
    ends = np.where(rng.random(count) < 0.5, -(1 << 31) - near.clip(max=0), (1 << 31) - 1 - near.clip(min=0))
    c = np.where(rng.random(count) < 0.5, c, ends)
    return operands[0], operands[1], c.astype(np.int32)


def random_batch(mode: Mode, count: int, *, seed: int, profile: Profile = HOPPER) -> Batch:
    """Random operations of one mode, of floating point some of each of `KINDS`."""
    rng = np.random.default_rng((seed, mode.code()))
    products = mode.products(profile)
    if not isinstance(FORMATS[mode.a_type], FloatFormat):
        a, b, c = _random_integers(rng, mode, count, products)
        return Batch(mode=mode, a=a, b=b, c=c)
    parts = [
        _random_floats(rng, mode, kind, (count + i) // len(KINDS), products) for i, kind in enumerate(KINDS)
    ]
    a, b, c = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    kind_of = {8: np.uint8, 16: np.uint16, 32: np.uint32}
    a_kind, b_kind, c_kind = (kind_of[FORMATS[name].bits] for name in (mode.a_type, mode.b_type, mode.c_type))
    return Batch(mode=mode, a=a.astype(a_kind), b=b.astype(b_kind), c=c.astype(c_kind))
