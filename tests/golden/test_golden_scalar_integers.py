"""Integer, logic and comparison instructions that the captures do not have, against plain integers."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies

from golden.scalar import operation

EXAMPLES = settings(max_examples=60)
EDGES = [0, 1, 2, 31, 32, 33, 0x7FFF, 0x8000, 0x7FFFFF, 0x800000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
WORD = strategies.one_of(strategies.sampled_from(EDGES), strategies.integers(0, 2**32 - 1))


def signed(value, bits=32):
    value %= 2**bits
    return value - 2**bits if value >> (bits - 1) else value


def results(name, *columns, pair=False):
    """The results of columns of integers, as integers."""
    found = operation(name, pair=pair)
    arrays = [
        np.array(column, bool if bits == 1 else f"u{bits // 8}")
        for column, bits in zip(columns, found.operands, strict=True)
    ]
    outcome = found.evaluate(*arrays)
    if len(found.results) == 1:
        return outcome.tolist()
    return list(zip(*(part.tolist() for part in outcome), strict=True))


def test_every_table_of_lop3():
    for table in range(256):
        # The low bytes have every combination of bits once, the other bytes have zeros.
        expected = table | (0xFFFFFF00 if table & 1 else 0)
        assert results("lop3.b32", [0xF0], [0xCC], [0xAA], [table]) == [expected]


@EXAMPLES
@given(a=WORD, b=WORD, selector=WORD)
def test_one_selector_for_all_permutes_as_many_do(a, b, selector):
    expected = 0
    for digit in range(4):
        choice = selector >> 4 * digit & 15
        byte = (b << 32 | a) >> 8 * (choice & 7) & 0xFF
        if choice & 8:
            byte = 0xFF if byte & 0x80 else 0
        expected |= byte << 8 * digit
    assert results("prmt.b32", [a, a], [b, b], [selector]) == [expected, expected]
    assert results("prmt.b32", [a, 0], [b, 0], [selector, 0])[0] == expected


@pytest.mark.parametrize("mode", ["clamp", "wrap"])
@EXAMPLES
@given(
    a=WORD,
    b=strategies.one_of(WORD, strategies.integers(0, 40)),
    start=strategies.one_of(WORD, strategies.integers(0, 40)),
)
def test_masks_and_extension(mode, a, b, start):
    def limited(count):
        return count % 32 if mode == "wrap" else min(count, 32)

    length = limited(b)
    ones = (2**length - 1) << limited(start)
    assert results(f"bmsk.{mode}.b32", [start], [b]) == [ones % 2**32]
    low = a % 2**length
    assert results(f"szext.{mode}.u32", [a], [b]) == [low]
    expected = signed(low, length) % 2**32 if length else 0
    assert results(f"szext.{mode}.s32", [a], [b]) == [expected]


LONG = strategies.one_of(
    strategies.integers(0, 2**128 - 1),
    strategies.sampled_from([0, 1, 2**64 - 1, 2**64, 2**127, 2**128 - 1, 2**96 - 1]),
)


@pytest.mark.parametrize("bits", [32, 64])
@EXAMPLES
@given(a=LONG, b=LONG)
def test_long_sums_and_differences(bits, a, b):
    words = 128 // bits
    for chain, exact in ((("add.cc", "addc.cc"), a + b), (("sub.cc", "subc.cc"), a - b)):
        found, flag = 0, []
        for word in range(words):
            x, y = (value >> bits * word & 2**bits - 1 for value in (a, b))
            ((part, carry),) = results(f"{chain[word > 0]}.u{bits}", [x], [y], *([flag] if word else []))
            found |= part << bits * word
            flag = [carry]
        assert found == exact % 2**128
        assert flag[0] == (exact >= (2**128 if chain[0] == "add.cc" else 0))


# What ptxas 13.0 computes itself of constants, for sm_90: 5 - 3, then addc 0 + 100; 3 - 5, then addc 0 + 200;
# 3 + 5, then subc 5 - 0. The carry of a subtraction is set where nothing is borrowed.
@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (("sub.cc.u32", 5, 3), ("addc.u32", 0, 100), 101),
        (("sub.cc.u32", 3, 5), ("addc.u32", 0, 200), 200),
        (("add.cc.u32", 3, 5), ("subc.u32", 5, 0), 4),
    ],
)
def test_sums_and_differences_share_one_carry(first, second, expected):
    ((_, flag),) = results(first[0], *([value] for value in first[1:]))
    assert results(second[0], *([value] for value in second[1:]), [flag]) == [expected]
