"""The captured results of approximate instructions, and the operands that go with their digests."""

import hashlib
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from golden.approximation.operations import operation

DATA = Path(__file__).parents[1] / "data" / "approximate" / "captures.npz"
CHUNK = 1 << 23
PAIRS = 1 << 20


@cache
def capture(key: str) -> NDArray:
    with np.load(DATA) as stored:
        return stored[key]


@cache
def forms_of(group: str) -> tuple[str, ...]:
    with np.load(DATA) as stored:
        return tuple(name.split("/")[1] for name in stored.files if name.startswith(f"{group}/"))


def digest_of(results: NDArray) -> int:
    return int(hashlib.sha256(results).hexdigest()[:16], 16)


def f32_digest(form: str, chunk: int) -> int:
    """Digest of the results for the chunk of 2**23 operands."""
    operands = np.arange(chunk * CHUNK, (chunk + 1) * CHUNK, dtype=np.uint32)
    return digest_of(operation(form)(operands).astype("<u4", copy=False))


def f64_digest(form: str, chunk: int) -> int:
    """The same of an f64 form: operands by their upper words, whose results' lower words are 0."""
    upper = np.arange(chunk * CHUNK, (chunk + 1) * CHUNK, dtype=np.uint32)
    results = operation(form)(upper.astype(np.uint64) << np.uint64(32) | mixed(upper))
    assert not (results & np.uint64(0xFFFFFFFF)).any()
    return digest_of((results >> np.uint64(32)).astype("<u4"))


def quotient_digest(form: str, chunk: int) -> int:
    return digest_of(operation(form)(*quotients(chunk)).astype("<u4", copy=False))


def mixed(x: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """A mixing function: the pseudorandom operands of the capture."""
    x = x * np.uint32(0x9E3779B9)
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x85EBCA6B)
    x ^= x >> np.uint32(13)
    x *= np.uint32(0xC2B2AE35)
    return x ^ x >> np.uint32(16)


def quotients(chunk: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Pairs of bit patterns.

    Of every second, unless the divisor is below 1, the quotient is between 2**-128 and 2**-123. In half of
    those, the significands differ by -1, 0, 1 or 2, so that the quotient is next to a power of two.
    """
    i = np.arange(chunk * PAIRS, (chunk + 1) * PAIRS, dtype=np.uint32)
    a, b, choice = mixed(2 * i), mixed(2 * i + np.uint32(1)), mixed(i ^ np.uint32(0x5BD1E995))
    exponent = (b >> np.uint32(23) & np.uint32(255)).astype(np.int64) - 127 + (choice & np.uint32(3))
    small = (i & 1 == 1) & (exponent >= 0)
    a = np.where(small, a & np.uint32(0x807FFFFF) | exponent.astype(np.uint32) << np.uint32(23), a)
    near = (b + (choice >> np.uint32(2) & np.uint32(3)) - np.uint32(1)) & np.uint32(0x7FFFFF)
    return np.where(i & 3 == 3, a & np.uint32(0xFF800000) | near, a), b
