"""Divisions as the instructions that an assembler makes of them; their last one is a multiplication.

With constants ``k`` for the operands' range, ``div a, b`` is ``(a * k) * rcp(b * k)`` and ``rcp b`` is
``k * rcp(b * k)``: `golden.approximation.scaled` computes the same. The reciprocal of a constant divisor is
rounded correctly; the unit's is not used.
"""

from typing import Final

from golden.ptx.contraction.edits import Edits
from golden.ptx.contraction.forms import immediate
from golden.ptx.scalar_types import float_bits, float_value
from golden.ptx.syntax import Operand

_LEAST_NORMAL: Final = 0x00800000
_GREAT: Final = 0x7E800000
INFINITY: Final = 0x7F800000
_SIGN: Final = 0x80000000
ONE: Final = 0x3F800000
_SMALL_SCALE: Final = 0x4B800000
_GREAT_SCALE: Final = 0x3E800000


def factors(
    edits: Edits, place: int, kind: str, operands: tuple[Operand, ...], *, flush: bool
) -> tuple[Operand, Operand]:
    """Compute the factors of the last multiplication of a division before it.

    `place` and `operands` are its statement and its sources, `kind` is ``"approx"``, ``"full"`` or ``"rcp"``.
    """
    divisor = operands[-1]
    scale: Operand | None = None
    if not flush or kind == "full":
        scale = immediate(ONE, "f32", divisor)
        size = edits.before(place, "abs.f32", divisor)
        for test, bound, factor in _ranges(kind, flush=flush):
            inside = edits.before(place, f"setp.{test}.f32", size, immediate(bound, "f32", divisor))
            scale = edits.before(place, "selp.f32", immediate(factor, "f32", divisor), scale, inside)
    multiply = f"mul.rn{'.ftz' if flush else ''}.f32"
    if scale is not None:
        divisor = edits.before(place, multiply, divisor, scale)
    reciprocal = edits.before(place, "rcp.approx.ftz.f32", divisor)
    if kind == "rcp":
        assert scale is not None
        return scale, reciprocal
    numerator = operands[0]
    if scale is not None:
        numerator = edits.before(place, multiply, numerator, scale)
    return numerator, reciprocal


def _ranges(kind: str, *, flush: bool) -> tuple[tuple[str, int, int], ...]:
    """Comparison, bound and scale of the divisors that are scaled."""
    small = ("lt", _LEAST_NORMAL, _SMALL_SCALE)
    great = ("gt", _GREAT, _GREAT_SCALE)
    return (*(() if flush else (small,)), *(() if kind == "approx" else (great,)))


def constant_scale(divisor: int, kind: str, *, flush: bool) -> int | None:
    """The scale of both operands of a division by a constant, if there is one; both f32 bits."""
    size = divisor & ~_SIGN
    for test, bound, factor in _ranges(kind, flush=flush):
        if size < bound if test == "lt" else size > bound:
            return factor
    return None


def constant_reciprocal(bits: int, scale: int, *, flush: bool) -> int:
    """The correctly rounded reciprocal of a scaled constant; all f32 bits.

    With `flush`, subnormal operands and results count as zeros.
    """
    sign, size = bits & _SIGN, float_bits(float_value(bits & ~_SIGN, 32) * float_value(scale, 32), 32)
    if size == 0 or (flush and size < _LEAST_NORMAL):
        return sign | INFINITY
    # The quotient of two f32, rounded to f64 and then to f32, is rounded correctly.
    result = float_bits(1 / float_value(size, 32), 32)
    return sign | (0 if flush and result < _LEAST_NORMAL else result)
