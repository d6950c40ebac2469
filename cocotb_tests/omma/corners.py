"""Directed operands of the unit for sums of groups: every place where its arithmetic changes its way."""

from collections.abc import Callable, Iterator

import numpy as np

from cocotb_tests.omma.operands import SCALE_TYPES, Batch, random_batch
from hdl.omma.widths import GROUP, GROUPS, KEPT

_DEPTH = GROUP * GROUPS
_ELEMENT_ONE = 2
_ONES = {"ue8m0": 127, "ue4m3": 0x38}
_TINY = 1 << 23
"""The least normal f32."""


def _zeros(scale_type: str, count: int) -> Batch:
    a, b = (np.zeros((count, _DEPTH), np.uint8) for _ in range(2))
    ones = (np.full((count, GROUPS), _ONES[scale_type], np.uint8) for _ in range(2))
    return Batch(scale_type, a, b, np.zeros(count, np.uint32), *ones)


def products() -> Iterator[Batch]:
    """Every two elements at every k, alone."""
    batch = _zeros("ue8m0", 256 * _DEPTH)
    number = np.arange(256 * _DEPTH)
    batch.a[number, number // 256] = number % 16
    batch.b[number, number // 256] = number // 16 % 16
    yield batch


def scale_bytes() -> Iterator[Batch]:
    """Every byte for every group of either side, beside random ones."""
    for scale_type in SCALE_TYPES:
        for side in ("scale_a", "scale_b"):
            batch = random_batch(scale_type, "normal", 256 * GROUPS, seed=3)
            number = np.arange(256 * GROUPS)
            getattr(batch, side)[number, number // 256] = number % 256
            batch.c[::2] = 0
            yield batch


def distances() -> Iterator[Batch]:
    """Each term, of either sign, at every distance below a group of which nothing or one product is left."""
    for top in range(GROUPS):
        steps = KEPT + 16
        batch = _zeros("ue8m0", 8 * steps * (GROUPS + 1))
        number = np.arange(len(batch.c))
        distance, low, sign, rest = (
            number % steps,
            number // steps % (GROUPS + 1),
            number // 2 % 2,
            number % 3,
        )
        batch.a[:, top * GROUP : top * GROUP + 2] = (_ELEMENT_ONE, _ELEMENT_ONE + 8)
        batch.b[:, top * GROUP : top * GROUP + 2] = _ELEMENT_ONE
        batch.a[rest == 0, top * GROUP + 1] = 0
        for group in range(GROUPS):
            chosen = (low == group) & (group != top)
            place = slice(group * GROUP, (group + 1) * GROUP)
            batch.a[chosen, place] = 7
            batch.b[chosen, place] = np.where(sign, 15, 7)[chosen, None]
            batch.a[chosen & (rest == 1), group * GROUP] = 1
            batch.scale_a[chosen, group] = 127 - distance[chosen] + 4
        of_c = low == GROUPS
        fields = (127 - distance).astype(np.uint32) << np.uint32(23)
        batch.c[of_c] = (fields | np.uint32(0x7F_FFFF) | sign.astype(np.uint32) << np.uint32(31))[of_c]
        yield batch


def limits() -> Iterator[Batch]:
    """Sums about the least subnormal and normal numbers, the least Emax, and the largest number."""
    rng = np.random.default_rng(4)
    count = 6_000
    for exponents in (range(-170, -115), range(100, 135)):
        batch = random_batch("ue8m0", "normal", count, seed=5)
        total = rng.integers(exponents.start, exponents.stop, (count, 1)) + rng.integers(
            -3, 4, (count, GROUPS)
        )
        half = (total + 254).clip(0, 508)
        batch.scale_a[:] = (half // 2).clip(0, 254)
        batch.scale_b[:] = (half - batch.scale_a).clip(0, 254)
        fields = (total.max(axis=1) + rng.integers(120, 140, count)).clip(0, 254).astype(np.uint32)
        batch.c[:] = batch.c & np.uint32(0x807F_FFFF) | fields << np.uint32(23)
        batch.c[rng.random(count) < 0.3] &= np.uint32(1 << 31)
        sparse = rng.random((count, _DEPTH)) < rng.random((count, 1))
        batch.a[sparse] &= 8
        yield batch


def cancelling() -> Iterator[Batch]:
    """Groups that cancel each other or themselves under large scales, with C in every binade beside them."""
    for scale_type in SCALE_TYPES:
        batch = random_batch(scale_type, "cancel", 5 * 256, seed=6)
        number = np.arange(len(batch.c))
        batch.c[:] = (number % 255).astype(np.uint32) << np.uint32(23) | number.astype(np.uint32)
        batch.c[number % 2 == 1] |= np.uint32(1 << 31)
        # The third group is the negative first one, with the same scales.
        pair = number % 5 == 0
        batch.a[pair, 32:48] = batch.a[pair, :16] ^ 8
        batch.b[pair, 32:48] = batch.b[pair, :16]
        for scale in (batch.scale_a, batch.scale_b):
            scale[pair, 2] = scale[pair, 0]
        yield batch


def special_values() -> Iterator[Batch]:
    """NaN and infinities of C beside every kind of scale, and sums that overflow."""
    values = [0x7F800000, 0x7F800001, 0x7FFFFFFF, 0x7FC00000, 0x7F7FFFFF, 0, 1, _TINY - 1, _TINY]
    c = np.array(values + [value | 1 << 31 for value in values], np.uint32)
    scales = {"ue8m0": (0, 1, 127, 190, 254, 255), "ue4m3": (0, 1, 0x38, 0x7E, 0x7F, 0x80, 0xFF)}
    for scale_type in SCALE_TYPES:
        batch = random_batch(scale_type, "normal", 64 * len(c), seed=7)
        rng = np.random.default_rng(8)
        batch.c[:] = np.tile(c, 64)
        for scale in (batch.scale_a, batch.scale_b):
            chosen = rng.random(scale.shape) < 0.5
            scale[chosen] = rng.choice(scales[scale_type], int(chosen.sum()))
        yield batch


CORNERS: dict[str, Callable[[], Iterator[Batch]]] = {
    corner.__name__: corner
    for corner in (products, scale_bytes, distances, limits, cancelling, special_values)
}
"""Name to generator of batches."""
