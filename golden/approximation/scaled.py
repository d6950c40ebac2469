"""The f32 forms without ``.ftz``, and the divisions: scaled operands around the forms with ``.ftz``.

Subnormal operands and results are kept. All multiplications are f32, rounded to nearest even. All functions
take and return bit patterns in arrays of uint32 of one shape.

A product with ``.ftz`` is flushed if it is below ``2**-126`` once rounded to 24 significant bits with an
unlimited exponent (tininess after rounding, in the words of IEEE 754). Rounding to a subnormal first would
keep more: products from ``2**-126 * (1 - 2**-24)`` to ``2**-126 * (1 - 2**-25)`` become zero.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from golden.approximation import unit
from golden.approximation.unit import INFINITY, LEAST_NORMAL, MAGNITUDE, NAN, SIGN, Bits

__all__ = [
    "GREAT",
    "div_approx",
    "div_approx_ftz",
    "div_full",
    "div_full_ftz",
    "ex2",
    "lg2",
    "rcp",
    "rsqrt",
    "sqrt",
]

GREAT = np.uint32(0x7E800000)
"""``2**126``: the reciprocal of anything greater is subnormal."""

_SMALL_SCALE = np.float32(2**24)
_GREAT_SCALE = np.float32(0.25)
_LEAST_KEPT = 2.0**-126 * (1 - 2.0**-25)


def ex2(x: Bits) -> Bits:
    """Two to the power x: below -126, the square of two to the power x / 2."""
    value = x.view(np.float32)
    small = value < -126
    if not small.any():
        return unit.ex2(x)
    halved = x.copy()
    halved[small] = (value[small] * np.float32(0.5)).view(np.uint32)
    result = unit.ex2(halved)
    root = result[small].view(np.float32)
    result[small] = (root * root).view(np.uint32)
    return result


def rcp(x: Bits) -> Bits:
    """One divided by x, which is scaled by ``2**24`` or 0.25 where it or the result is subnormal."""
    magnitude = x & MAGNITUDE
    small, great = magnitude < LEAST_NORMAL, magnitude > GREAT
    if not (small | great).any():
        return unit.rcp(x)
    scale = np.where(small, _SMALL_SCALE, np.where(great, _GREAT_SCALE, np.float32(1)))
    with np.errstate(invalid="ignore", over="ignore"):
        reciprocal = unit.rcp((x.view(np.float32) * scale).view(np.uint32))
        return _canonical(reciprocal.view(np.float32) * scale)


def rsqrt(x: Bits) -> Bits:
    """One divided by the square root of x."""
    return _scaled_when_small(unit.rsqrt, x, lambda result: result * np.float32(4096))


def sqrt(x: Bits) -> Bits:
    """The square root of x."""
    return _scaled_when_small(unit.sqrt, x, lambda result: result * np.float32(2**-12))


def lg2(x: Bits) -> Bits:
    """The logarithm of x to base two."""
    return _scaled_when_small(unit.lg2, x, lambda result: result - np.float32(24))


def div_approx(a: Bits, b: Bits) -> Bits:
    """A times the reciprocal of b; 0 for a finite quotient by more than ``2**126``."""
    return _divided(a, b, _scale(b, small=True, great=False))


def div_approx_ftz(a: Bits, b: Bits) -> Bits:
    """As `div_approx`, with subnormal operands and results as zeros."""
    return _divided_flushed(a, b)


def div_full(a: Bits, b: Bits) -> Bits:
    """A times the reciprocal of b, both scaled where the reciprocal would be subnormal or overflow."""
    return _divided(a, b, _scale(b, small=True, great=True))


def div_full_ftz(a: Bits, b: Bits) -> Bits:
    """As `div_full`, with subnormal operands and results of every multiplication as zeros."""
    scale = _scale(b, small=False, great=True)
    return _divided_flushed(_multiplied_flushed(a, scale), _multiplied_flushed(b, scale))


def _scaled_when_small(
    function: Callable[[Bits], Bits],
    x: Bits,
    back: Callable[[NDArray[np.float32]], NDArray[np.float32]],
) -> Bits:
    """`function`, of subnormal operands by way of ``2**24`` times the operand."""
    small = x & MAGNITUDE < LEAST_NORMAL
    if not small.any():
        return function(x)
    scaled = x.copy()
    scaled[small] = (x[small].view(np.float32) * _SMALL_SCALE).view(np.uint32)
    result = function(scaled)
    result[small] = _canonical(back(result[small].view(np.float32)))
    return result


def _scale(b: Bits, *, small: bool, great: bool) -> NDArray[np.float32]:
    """By what a quotient's operands are multiplied."""
    magnitude = b & MAGNITUDE
    scale = np.ones(b.shape, np.float32)
    if small:
        scale[magnitude < LEAST_NORMAL] = _SMALL_SCALE
    if great:
        scale[magnitude > GREAT] = _GREAT_SCALE
    return scale


def _divided(a: Bits, b: Bits, scale: NDArray[np.float32]) -> Bits:
    with np.errstate(invalid="ignore", over="ignore"):
        reciprocal = unit.rcp((b.view(np.float32) * scale).view(np.uint32))
        return _canonical(a.view(np.float32) * scale * reciprocal.view(np.float32))


def _divided_flushed(a: Bits, b: Bits) -> Bits:
    return _multiplied_flushed(a, unit.rcp(b).view(np.float32))


def _multiplied_flushed(a: Bits, factor: NDArray[np.float32]) -> Bits:
    """The product, 0 of its sign if it is below ``2**-126`` once rounded to 24 significant bits."""
    with np.errstate(invalid="ignore", over="ignore"):
        exact = _flushed(a).view(np.float32) * factor.astype(np.float64)
        product = exact.astype(np.float32)
    return np.where(np.abs(exact) < _LEAST_KEPT, product.view(np.uint32) & SIGN, _canonical(product))


def _flushed(x: Bits) -> Bits:
    """Subnormal numbers become zeros of their sign."""
    return np.where(x & MAGNITUDE < LEAST_NORMAL, x & SIGN, x)


def _canonical(value: NDArray[np.float32]) -> Bits:
    """Bit patterns, with the unit's NaN for every NaN."""
    bits = np.ascontiguousarray(value).view(np.uint32)
    return np.where(bits & MAGNITUDE > INFINITY, NAN, bits)
