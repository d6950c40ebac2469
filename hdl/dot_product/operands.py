"""The ports of the dot-product unit: what goes in with each operation, and what comes out."""

from typing import Final

from amaranth.hdl import unsigned
from amaranth.lib import data, enum

from hdl.config import DotProductConfig


class Multiplicand(enum.Enum, shape=7):
    """The element format of both multiplicands of one operation.

    Each bit answers a question of some stage: whether the format has f32's exponent range, is tf32, fp8, an
    integer, i8, i4, b1.
    """

    F16 = 0
    """As many products of f16 as the profile's block has (hopper: 16), in the low bits."""
    BF16 = 1
    """Likewise of bf16."""
    TF32 = 3
    """Likewise of tf32, with the longest of the profile's blocks of that (hopper: 8)."""
    FP8 = 4
    """32 products of e4m3 or e5m2, which may differ in a and b; C has the type of D. With fp6 and fp4 also of
    e3m2, e2m3 and e2m1, in containers of 8 bits."""
    I8 = 8 + 16
    """16 products of 8-bit integers, in the low 128 bits."""
    I4 = 8 + 32
    """32 products of 4-bit integers, in the low 128 bits."""
    B1 = 8 + 64
    """128 single bits, in the low 128 bits."""


GROUPS: Final = 8 + 4
"""In place of a `Multiplicand`: 64 products of e2m1 in sums of groups, which no dot-product unit computes
(`hdl.omma.unit`). `Operation.a_e5m2` says that their scales are ue4m3."""


class Result(enum.Enum, shape=2):
    """How a floating-point sum becomes the result; integers always give s32."""

    F32 = 0
    """Truncated to f32."""
    F16 = 1
    """Rounded once to f16; C is f16."""
    F16_FROM_F32 = 2
    """Truncated to f32, and that converted to f16."""


class Operation(data.Struct):
    """What to compute; it may differ from one operation to the next without a bubble."""

    multiplicand: Multiplicand
    result: Result
    """Floating point only."""
    c_is_f16: unsigned(1)
    """C is an f16 in the low half of `c`; otherwise f32, or s32 for integers."""
    saturate: unsigned(1)
    """satf of floating point but fp8, satfinite of integers. fp8 beside smaller formats: a is e2m1."""
    a_signed: unsigned(1)
    b_signed: unsigned(1)
    """Integers of more than one bit: whether the operand is signed. fp8 beside smaller formats: whether its
    elements have fewer than 8 bits. The highest two bits of their containers are ignored."""
    bitwise_and: unsigned(1)
    """Single bits: AND instead of XOR. fp8 beside smaller formats: b is e2m1. Then the lowest two bits of
    containers are ignored, too."""
    a_e5m2: unsigned(1)
    b_e5m2: unsigned(1)
    """fp8: whether the elements of the operand are e5m2 instead of e4m3, or e3m2 among smaller ones."""


class DotProductOperands(data.Struct):
    """One row of A, one column of B, one element of C; k ascends from the low bits on."""

    a: unsigned(256)
    b: unsigned(256)
    """Products that an operation lacks of the longest block of the format are of zeros. What lies beyond
    that has no meaning."""
    c: unsigned(32)
    operation: Operation
    c_beyond: unsigned(1)
    """Integers: C is the sum of an s32 and products that has left the range of s32, so its sign is not that
    of `c`. Saturation then clamps the sum of all products once, however many operations make it."""


def operand_layout(config: DotProductConfig) -> type[DotProductOperands] | data.StructLayout:
    """`DotProductOperands`, and what the options of a configuration add to them.

    With block scales ``scale_a`` and ``scale_b``, bytes of ue8m0 for all products: 127, which is 1, where an
    operation has none.
    """
    if not config.block_scale:
        return DotProductOperands
    members = {name: field.shape for name, field in data.Layout.cast(DotProductOperands)}
    return data.StructLayout({**members, "scale_a": unsigned(8), "scale_b": unsigned(8)})


class DotProductResult(data.Struct):
    """One element of D; an f16 lies in the low half, the high half is zero."""

    d: unsigned(32)
