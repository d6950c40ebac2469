"""Operations of the unit for sums of groups as arrays: packing, random operands, and golden's results."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.fp4_tiles import fp4_tiles
from golden.tables.profiles import PROFILES
from hdl.omma.widths import GROUP, GROUPS

SCALE_TYPES = ("ue8m0", "ue4m3")

KINDS = ("normal", "wide", "cancel", "sparse", "special", "bits")
"""Of random operands."""

_DEPTH = GROUP * GROUPS
_MAGNITUDE = 7
_ONE = {"ue8m0": 127, "ue4m3": 0x38}
_SIGN = np.uint32(1 << 31)


@dataclass(frozen=True)
class Batch:
    """Operations with scales of one type.

    Parameters
    ----------
    scale_type : str
    a, b : ndarray of uint8, shape (count, 64)
        Bit patterns of e2m1.
    c : ndarray of uint32, shape (count,)
    scale_a, scale_b : ndarray of uint8, shape (count, 4)
    """

    scale_type: str
    a: NDArray[np.uint8]
    b: NDArray[np.uint8]
    c: NDArray[np.uint32]
    scale_a: NDArray[np.uint8]
    scale_b: NDArray[np.uint8]

    def pack(self) -> NDArray[np.uint32]:
        """Payloads of `hdl.omma.operands.GroupSumOperands`, low words first."""
        words = [
            np.ascontiguousarray(operand[:, ::2] | operand[:, 1::2] << 4).view(np.uint32)
            for operand in (self.a, self.b)
        ]
        scales = [np.ascontiguousarray(scale).view(np.uint32) for scale in (self.scale_a, self.scale_b)]
        last = np.full((len(self.c), 1), SCALE_TYPES.index(self.scale_type), np.uint32)
        return np.concatenate([*words, self.c[:, None], *scales, last], axis=1)

    def expected(self) -> NDArray[np.uint32]:
        """Golden's results."""
        c = self.c[:, None, None]
        return fp4_tiles(
            self.a[:, None, :],
            self.b[:, :, None],
            c,
            self.scale_a[:, None, :],
            self.scale_b[:, :, None],
            scale_type=self.scale_type,
            group=PROFILES["blackwell"].fp4_group or _DEPTH,
            out=np.empty(c.shape, np.uint32),
        )[:, 0, 0]

    def describe(self, index: int) -> str:
        """One operation, for a message."""
        arrays = (self.a, self.b, self.scale_a, self.scale_b)
        a, b, scale_a, scale_b = (bytes(array[index]).hex() for array in arrays)
        c = int(self.c[index])
        return f"{self.scale_type}: a {a} b {b} c {c:08x} scale_a {scale_a} scale_b {scale_b}"


def random_batch(scale_type: str, kind: str, count: int, seed: int) -> Batch:
    """Random operations.

    Parameters
    ----------
    scale_type : str
    kind : str
        One of `KINDS`: sums of the size of C, scales far apart, groups that cancel or nearly do, elements
        that mostly are zero, NaN and zeros among scales and C, and random bits in everything.
    count, seed : int
    """
    rng = np.random.default_rng((seed, KINDS.index(kind), SCALE_TYPES.index(scale_type)))
    a, b = (rng.integers(0, 16, (count, _DEPTH), np.uint8) for _ in range(2))
    c = rng.integers(0, 1 << 32, count, np.uint32)
    scale_a, scale_b = (rng.integers(0, 256, (count, GROUPS), np.uint8) for _ in range(2))
    if kind == "bits":
        return Batch(scale_type, a, b, c, scale_a, scale_b)
    reach = {"ue8m0": 6, "ue4m3": 24}[scale_type]
    if kind == "wide":
        reach = {"ue8m0": 20, "ue4m3": 56}[scale_type]
    near = rng.integers(-reach, reach, (2, count, GROUPS))
    if kind == "wide":  # Everything lies in any binade, the least and the largest too.
        near += rng.integers(-107, 108, (2, count, 1)) if scale_type == "ue8m0" else 0
        near = np.where(rng.random((2, count, GROUPS)) < 0.5, near, -near)
    least = 0
    scale_a, scale_b = (
        (_ONE[scale_type] + some).clip(least, 254 if scale_type == "ue8m0" else 126).astype(np.uint8)
        for some in near
    )
    middle = 127 + (near.sum(axis=0).max(axis=1) if scale_type == "ue8m0" else 0)
    fields = (middle + rng.integers(-40, 16, count)).clip(0, 254).astype(np.uint32)
    c = c & np.uint32(0x807F_FFFF) | fields << np.uint32(23)
    if kind == "cancel":
        _cancel(rng, a, b)
        c[rng.random(count) < 0.5] &= _SIGN
    if kind == "sparse":
        share = rng.random((count, GROUPS, 1)) ** 3
        kept = rng.random((count, GROUPS, GROUP)) < share
        a[~kept.reshape(count, _DEPTH)] &= 8
        c[rng.random(count) < 0.5] &= _SIGN
    if kind == "special":
        values = np.array({"ue8m0": (0, 255, 254, 1), "ue4m3": (0, 127, 128, 255)}[scale_type], np.uint8)
        for scale in (scale_a, scale_b):
            chosen = rng.random(scale.shape) < rng.choice((0.02, 0.4), (count, 1))
            scale[chosen] = rng.choice(values, int(chosen.sum()))
        chosen = rng.random(count) < 0.5
        specials = np.array((0, 1, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7F7FFFFF, 0x007FFFFF), np.uint32)
        c[chosen] = rng.choice(specials, int(chosen.sum())) | (c[chosen] & _SIGN)
    return Batch(scale_type, a, b, c, scale_a, scale_b)


def _cancel(rng: np.random.Generator, a: NDArray[np.uint8], b: NDArray[np.uint8]) -> None:
    """Let the upper half of each group be the negative lower one, some elements one step beside it."""
    count = len(a)
    half = GROUP // 2
    groups_a, groups_b = (x.reshape(count, GROUPS, GROUP) for x in (a, b))
    groups_a[..., half:] = groups_a[..., :half]
    groups_b[..., half:] = groups_b[..., :half] ^ 8
    beside = rng.random((count, GROUPS, GROUP)) < rng.choice((0, 0.05), (count, GROUPS, 1))
    groups_a[beside & (groups_a & _MAGNITUDE != _MAGNITUDE)] += 1
    order = rng.permuted(np.tile(np.arange(GROUP), (count, GROUPS, 1)), axis=2)
    groups_a[:] = np.take_along_axis(groups_a, order, 2)
    groups_b[:] = np.take_along_axis(groups_b, order, 2)
