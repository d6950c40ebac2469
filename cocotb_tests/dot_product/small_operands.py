"""Operations on fp8, fp6 and fp4 with block scales: packing, random operands, and golden's results."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.tiles import float_tiles
from golden.tables.formats import FloatFormat, float_format
from golden.tables.profiles import PROFILES
from hdl.config import DotProductConfig
from hdl.dot_product.operands import Multiplicand, Operation, Result

SMALL_TYPES = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
SMALL_KINDS = ("bits", "near", "spread", "cancel", "sparse", "subnormal", "special", "edge")
"""Of random operands: everything random; sums of the size of C; C and scales anywhere; products that cancel
or nearly do; elements that mostly are zero; subnormal ones; NaN and infinities; the ends of the range."""

PRODUCTS = 32
BLACKWELL = PROFILES["blackwell"]
_ONE = 127
_OPERATION_WORD = 17


@dataclass(frozen=True, kw_only=True)
class SmallBatch:
    """Operations on elements of two types.

    Parameters
    ----------
    a_type, b_type, d_type : str
        C has the type of D.
    a, b : ndarray of uint8, shape (count, 32)
        Bit patterns.
    c : ndarray of uint32, shape (count,)
    scale_a, scale_b : ndarray of uint8, shape (count,)
        127 for f16 results.
    """

    a_type: str
    b_type: str
    d_type: str
    a: NDArray[np.uint8]
    b: NDArray[np.uint8]
    c: NDArray[np.uint32]
    scale_a: NDArray[np.uint8]
    scale_b: NDArray[np.uint8]

    def pack(self, config: DotProductConfig) -> NDArray[np.uint32]:
        """Payloads of `hdl.dot_product.operands.operand_layout`; unused bits of containers are random."""
        rng = np.random.default_rng(len(self.a))
        words = [
            np.ascontiguousarray(_containers(rng, elements, name)).view(np.uint32)
            for elements, name in ((self.a, self.a_type), (self.b, self.b_type))
        ]
        types = (self.a_type, self.b_type)
        two_bits = [name in ("e5m2", "e3m2") for name in types]
        small = [float_format(name).bits < 8 for name in types]
        operation = Operation.const(
            {
                "multiplicand": Multiplicand.FP8,
                "result": Result.F16 if self.d_type == "f16" else Result.F32,
                "c_is_f16": self.d_type == "f16",
                "saturate": self.a_type == "e2m1",
                "a_signed": small[0],
                "b_signed": small[1],
                "bitwise_and": self.b_type == "e2m1",
                "a_e5m2": two_bits[0],
                "b_e5m2": two_bits[1],
            }
        )
        code = operation.as_bits()
        place = Operation.as_shape().size + 1
        last = np.full((len(self.c), 1), code, np.uint64)
        if config.block_scale:
            scales = self.scale_a.astype(np.uint64) | self.scale_b.astype(np.uint64) << np.uint64(8)
            last |= scales[:, None] << np.uint64(place)
        last_words = last.view(np.uint32)[:, : 1 + (config.block_scale and place + 16 > 32)]
        return np.concatenate([*words, self.c[:, None], last_words], axis=1)

    def expected(self) -> NDArray[np.uint32]:
        """Golden's results."""
        formats = tuple(map(float_format, (self.a_type, self.b_type, self.d_type, self.d_type)))
        scales: list[NDArray[np.uint8]] = []
        if self.d_type == "f32":
            scales = [scale[:, None, None] for scale in (self.scale_a, self.scale_b)]
        c = self.c.astype(np.uint16 if self.d_type == "f16" else np.uint32)[:, None, None]
        operands = (self.a[:, None, :], self.b[:, :, None], c, *scales)
        result = float_tiles(*operands, formats=formats, profile=BLACKWELL, mnemonic="mma")
        bits: NDArray[np.uint32] = result[:, 0, 0].astype(np.uint32)
        return bits

    def describe(self, index: int) -> str:
        """One operation, for a message."""
        a, b = (bytes(elements[index]).hex() for elements in (self.a, self.b))
        scales = f"{self.scale_a[index]:02x} {self.scale_b[index]:02x}"
        return f"{self.a_type} {a} {self.b_type} {b} {self.d_type} {self.c[index]:08x} scales {scales}"

    def without_scales(self) -> "SmallBatch":
        """The same with scales of one."""
        ones = np.full(len(self.c), _ONE, np.uint8)
        return replace(self, scale_a=ones, scale_b=ones)


def _containers(rng: np.random.Generator, elements: NDArray[np.uint8], name: str) -> NDArray[np.uint8]:
    bits = float_format(name).bits
    shift = 2 if name == "e2m1" else 0
    mask = ((1 << bits) - 1) << shift
    unused = rng.integers(0, 256, elements.shape, np.uint8) & np.uint8(0xFF ^ mask)
    packed: NDArray[np.uint8] = (elements << np.uint8(shift)) | unused
    return packed


def random_small(a_type: str, b_type: str, d_type: str, kind: str, count: int, seed: int) -> SmallBatch:
    """Random operations of one of `SMALL_KINDS`."""
    key = (seed, SMALL_TYPES.index(a_type), SMALL_TYPES.index(b_type), SMALL_KINDS.index(kind))
    rng = np.random.default_rng(key)
    formats = float_format(a_type), float_format(b_type)
    a, b = (_elements(rng, format, kind, count) for format in formats)
    c_format = float_format(d_type)
    c = rng.integers(0, 1 << c_format.bits, count, np.uint32)
    scales = rng.integers(0, 256, (2, count))
    if kind not in ("bits", "special"):
        total = rng.integers(-8, 9, count)
        if kind == "spread":
            total = rng.integers(-300, 300, count)
        if kind == "edge":
            total = rng.choice([-1, 1], count) * rng.integers(95, 165, count)
        if d_type == "f16":
            total[:] = 0
        first = rng.integers(-60, 61, count)
        first = first.clip(np.maximum(-127, total - 127), np.minimum(127, total + 127))
        scales = np.stack([_ONE + first, _ONE + total - first]).clip(0, 254)
        reach = 40 if kind in ("near", "spread", "edge") else 24
        middle = c_format.bias + (scales.sum(axis=0) - 2 * _ONE) + (formats[0].bias == 15) * 3
        top = (1 << c_format.exponent_bits) - 2
        fields = (middle + rng.integers(-reach, reach, count)).clip(0, top)
        sign_and_fraction = c & np.uint32(c_format.sign_mask | (1 << c_format.fraction_bits) - 1)
        c = sign_and_fraction | (fields << c_format.fraction_bits).astype(np.uint32)
    if kind == "cancel":
        _cancel(rng, a, b, formats)
    if kind in ("cancel", "sparse", "edge", "subnormal"):
        c[rng.random(count) < 0.5] &= np.uint32(c_format.sign_mask)
    if kind == "special":
        scales = np.where(rng.random((2, count)) < 0.2, rng.choice([0, 1, 254, 255], (2, count)), scales)
        values = [0, 1, c_format.infinity, c_format.infinity + 1, c_format.infinity - 1]
        chosen = rng.random(count) < 0.5
        c[chosen] = rng.choice(np.array(values, np.uint32), int(chosen.sum())) | (
            c[chosen] & np.uint32(c_format.sign_mask)
        )
    if d_type == "f16":
        scales = np.full((2, count), _ONE)
    scale_a, scale_b = scales.astype(np.uint8)
    types = {"a_type": a_type, "b_type": b_type, "d_type": d_type}
    return SmallBatch(**types, a=a, b=b, c=c.astype(np.uint32), scale_a=scale_a, scale_b=scale_b)


def _elements(rng: np.random.Generator, format: FloatFormat, kind: str, count: int) -> NDArray[np.uint8]:
    bits = rng.integers(0, 1 << format.bits, (count, PRODUCTS), np.uint8)
    sign = np.uint8(format.sign_mask)
    if kind == "subnormal":
        return bits & np.uint8(format.sign_mask | (2 << format.fraction_bits) - 1)
    if kind == "sparse":
        zero = rng.random((count, PRODUCTS)) < rng.random((count, 1)) ** 0.3
        bits[zero] &= sign
    if format.name in ("e4m3", "e5m2"):
        magnitude = bits & np.uint8(0x7F)
        special = magnitude >= 0x7C if format.name == "e5m2" else magnitude == 0x7F
        kept = 0.02 if kind == "special" else 0.3 if kind == "bits" else 0.0
        cleared = special & (rng.random((count, 1)) >= kept)
        bits[cleared] &= np.uint8(0xBF)
    return bits


def _cancel(
    rng: np.random.Generator, a: NDArray[np.uint8], b: NDArray[np.uint8], formats: tuple[FloatFormat, ...]
) -> None:
    """Let half of the products be the negative other half, some one step beside it."""
    half = PRODUCTS // 2
    count = len(a)
    a[:, half:], b[:, half:] = a[:, :half], b[:, :half] ^ np.uint8(formats[1].sign_mask)
    beside = rng.random((count, half)) < rng.choice((0, 0.1), (count, 1))
    a[:, :half] ^= np.where(beside, 1, 0).astype(np.uint8)
    order = rng.permuted(np.tile(np.arange(PRODUCTS), (count, 1)), axis=1)
    a[:], b[:] = np.take_along_axis(a, order, 1), np.take_along_axis(b, order, 1)
