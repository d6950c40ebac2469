"""Integer, logic and comparison instructions that the captures do not have, against plain integers."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies

from golden.scalar import operation

EXAMPLES = settings(max_examples=60, deadline=None)
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


def test_lop3_with_a_predicate():
    assert results("lop3.or.b32", [1, 1], [2, 3], [0, 0], [0xC0], [0, 0]) == [(0, False), (1, True)]
    assert results("lop3.and.b32", [1, 1], [3, 3], [0, 0], [0xC0], [0, 1]) == [(1, False), (1, True)]


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


@pytest.mark.parametrize("type_", ["u32", "s32"])
@EXAMPLES
@given(a=WORD, b=WORD, c=WORD)
def test_24_bits(type_, a, b, c):
    number = signed if type_ == "s32" else lambda value, bits: value % 2**bits
    product = number(a, 24) * number(b, 24)
    for part, shift in (("lo", 0), ("hi", 16)):
        bits = product >> shift
        assert results(f"mul24.{part}.{type_}", [a], [b]) == [bits % 2**32]
        assert results(f"mad24.{part}.{type_}", [a], [b], [c]) == [(bits + c) % 2**32]
    if type_ == "s32":
        clamped = min(max((product >> 16) + signed(c), -(2**31)), 2**31 - 1)
        assert results("mad24.hi.sat.s32", [a], [b], [c]) == [clamped % 2**32]


@EXAMPLES
@given(a=WORD, b=WORD)
def test_packed_halves(a, b):
    def packed(function):
        return sum((function(a >> shift & 0xFFFF, b >> shift & 0xFFFF) % 2**16) << shift for shift in (0, 16))

    for type_, number in (("u16x2", lambda value: value), ("s16x2", lambda value: signed(value, 16))):
        assert results(f"add.{type_}", [a], [b]) == [packed(lambda x, y: x + y)]
        for name, choose in (("min", min), ("max", max)):
            expected = packed(lambda x, y, choose=choose, number=number: choose(number(x), number(y)))
            assert results(f"{name}.{type_}", [a], [b]) == [expected]

    assert results("max.relu.s16x2", [a], [b]) == [packed(lambda x, y: max(signed(x, 16), signed(y, 16), 0))]
    assert results("min.relu.s32", [a], [b]) == [max(min(signed(a), signed(b)), 0)]


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
        assert flag[0] == (not 0 <= exact < 2**128)


@EXAMPLES
@given(a=WORD, b=WORD, c=WORD, carry=strategies.booleans())
def test_multiply_add_with_carry(a, b, c, carry):
    low, high = a * b % 2**32, a * b >> 32
    assert results("mad.lo.cc.u32", [a], [b], [c]) == [((low + c) % 2**32, low + c >= 2**32)]
    total = high + c + carry
    assert results("madc.hi.cc.u32", [a], [b], [c], [carry]) == [(total % 2**32, total >= 2**32)]
    assert results("madc.hi.u32", [a], [b], [c], [carry]) == [total % 2**32]


def test_two_predicates_of_a_comparison():
    less = [True, False, False]
    columns = [1, 2, 3], [2, 2, 0xFFFFFFFF]
    assert results("setp.lt.s32", *columns) == less
    assert results("setp.lt.s32", *columns, pair=True) == [(p, not p) for p in less]
    with_and = results("setp.lt.and.s32", *columns, [True, True, False], pair=True)
    assert with_and == [(True, False), (False, True), (False, False)]
    assert results("setp.ne.xor.u32", [1, 1], [1, 2], [True, True]) == [True, False]


def test_comparison_of_halves():
    # 1 and 2 against 2 and 1; a NaN against 1.
    columns = [0x40003C00, 0x7FFF3C00], [0x3C004000, 0x3C004000]
    assert results("setp.lt.f16x2", *columns, pair=True) == [(True, False), (True, False)]
    assert results("setp.geu.f16x2", *columns, pair=True) == [(False, True), (False, True)]
    assert results("set.lt.f16x2.f16x2", *columns) == [0x00003C00, 0x00003C00]
    assert results("set.gtu.bf16x2.bf16x2", [0x40003F80], [0x3F804000]) == [0x3F800000]


def test_set_combines_and_writes_ones_of_the_width():
    assert results("set.lt.u32.f32", [0x3F800000], [0x40000000]) == [0xFFFFFFFF]
    assert results("set.gt.or.s32.u32", [1, 1], [2, 2], [True, False]) == [0xFFFFFFFF, 0]
    assert results("set.eq.u16.f16", [0x8000], [0]) == [0xFFFF]
    assert results("set.eq.f32.s64", [5, 6], [5, 5]) == [0x3F800000, 0]


@pytest.mark.parametrize("type_", ["b16", "u32", "f32", "f64"])
def test_moves_and_selection(type_):
    assert results(f"mov.{type_}", [7, 0]) == [7, 0]
    assert results(f"selp.{type_}", [1, 2], [3, 4], [True, False]) == [1, 4]


def test_predicates_have_logic_too():
    both = [True, True, False, False], [True, False, True, False]
    assert results("and.pred", *both) == [True, False, False, False]
    assert results("xor.pred", *both) == [False, True, True, False]
    assert results("not.pred", [True, False]) == [False, True]
    assert results("mov.pred", [True, False]) == [True, False]
