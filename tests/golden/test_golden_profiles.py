"""What distinguishes the generations, each constant shown by one directed case."""

from dataclasses import replace

import numpy as np
import pytest

import golden
from golden.resolve import resolve_instruction
from golden.tables.profiles import EXACT_PROFILES, HOPPER, PROFILES

WMMA = "wmma.mma.sync.aligned.row.col"
F16_F32 = f"{WMMA}.m16n16k16.f32.f32"
F16_F16 = f"{WMMA}.m16n16k16.f16.f16"
BF16 = f"{WMMA}.m16n16k16.f32.bf16.bf16.f32"
TF32 = f"{WMMA}.m16n16k8.f32.tf32.tf32.f32"

GENERATIONS = ("volta", "turing", "ampere", "ada", "hopper", "blackwell")


def f16(value):
    return int(np.float16(value).view(np.uint16))


def f32(value):
    return int(np.float32(value).view(np.uint32))


def bf16(value):
    assert f32(value) & 0xFFFF == 0
    return f32(value) >> 16


def one_element(instruction, encode, products, c, profile):
    """The first element of D for {k: (a, b)}, all else zero."""
    parsed = resolve_instruction(instruction)
    a = np.zeros((16, parsed.shape.k), np.uint32 if encode is f32 else np.uint16)
    b = np.zeros((parsed.shape.k, 16), a.dtype)
    addend = np.zeros((16, 16), np.uint16 if parsed.c_type == "f16" else np.uint32)
    addend[0, 0] = c
    for k, (x, y) in products.items():
        a[0, k], b[k, 0] = encode(x), encode(y)
    return int(golden.mma(instruction, a, b, addend, profile=profile)[0, 0])


def found(instruction, encode, products, c):
    return {name: one_element(instruction, encode, products, c, name) for name in GENERATIONS}


def by_name(**expected):
    return {name: expected.get(name, expected.get("others")) for name in GENERATIONS}


def test_every_generation_is_here():
    assert set(GENERATIONS) == set(PROFILES)


def test_volta_keeps_23_fraction_bits():
    """Two products of 2**-24 beside 1 make one unit in the last place, unless each is cut off."""
    products = {0: (2**-12, 2**-12), 1: (2**-12, 2**-12)}
    one, next_one = f32(1.0), f32(1.0) + 1
    assert found(F16_F32, f16, products, one) == by_name(volta=one, others=next_one)


def test_hopper_and_blackwell_keep_25_fraction_bits():
    """Four products of 2**-25 beside 1, likewise."""
    products = dict.fromkeys(range(4), (2**-12, 2**-13))
    one, next_one = f32(1.0), f32(1.0) + 1
    assert found(F16_F32, f16, products, one) == by_name(hopper=next_one, blackwell=next_one, others=one)


def test_26th_fraction_bit_is_cut_off_everywhere():
    products = dict.fromkeys(range(8), (2**-13, 2**-13))
    assert found(F16_F32, f16, products, f32(1.0)) == by_name(others=f32(1.0))


@pytest.mark.parametrize(("encode", "instruction"), [(f16, F16_F32), (bf16, BF16)])
def test_volta_adds_four_products_at_once(encode, instruction):
    """2**24 + 1 is truncated to f32 before the fifth product takes 2**24 away."""
    products = {0: (2**12, 2**11), 1: (2**12, 2**11), 2: (1, 1), 4: (-(2**12), 2**12)}
    assert found(instruction, encode, products, 0) == by_name(volta=0, others=f32(1.0))


@pytest.mark.parametrize(("encode", "instruction"), [(f16, F16_F32), (bf16, BF16)])
def test_hopper_and_blackwell_add_sixteen_products_at_once(encode, instruction):
    products = {0: (2**12, 2**11), 1: (2**12, 2**11), 2: (1, 1), 8: (-(2**12), 2**12)}
    one = f32(1.0)
    assert found(instruction, encode, products, 0) == by_name(hopper=one, blackwell=one, others=0)


def test_every_generation_adds_four_products_of_tf32_at_once():
    """2**24 + 1 is truncated to f32 before the fifth product takes 2**24 away; blocks of 8 would keep it."""
    products = {0: (2**12, 2**11), 1: (2**12, 2**11), 2: (1, 1), 4: (-(2**12), 2**12)}
    having = ("ampere", "ada", "hopper", "blackwell")
    assert {name: one_element(TF32, f32, products, 0, name) for name in having} == dict.fromkeys(having, 0)
    eight = replace(HOPPER, tf32_block=8)
    assert one_element(TF32, f32, products, 0, eight) == f32(1.0)


@pytest.mark.parametrize("generation", ["volta", "turing"])
def test_volta_and_turing_have_no_tf32(generation):
    message = (
        f"^profile: got {generation}, which has no tf32 in wmma.mma; "
        f"allowed: hopper, blackwell, ada, ampere, {', '.join(EXACT_PROFILES)}$"
    )
    with pytest.raises(golden.InvalidArgument, match=message):
        one_element(TF32, f32, {}, 0, generation)


def test_least_emax_of_f32_of_turing_ampere_and_ada():
    """2**-149 only together with a part at 2**-157, which lies below their smallest unit of 2**-156."""
    products = {0: ((2 - 2**-7) * 2.0**-75, 2.0**-75), 1: (2.0**-78, 2.0**-79)}
    assert found(BF16, bf16, products, 0) == by_name(volta=1, hopper=1, blackwell=1, others=0)


def test_least_emax_of_f32_of_hopper_and_blackwell():
    """Likewise below 2**-158: only volta, without a limit, keeps it."""
    large = 2 - 2**-7
    products = {
        0: (large * 2.0**-75, 2.0**-75),
        1: (large * 2.0**-79, 2.0**-79),
        2: (2.0**-82, 2.0**-83),
    }
    assert found(BF16, bf16, products, 0) == by_name(volta=1, others=0)


@pytest.mark.parametrize(
    ("small", "rounded_up"),
    [
        (2.0**-42, set(GENERATIONS)),
        (2.0**-43, set(GENERATIONS) - {"volta"}),
        (2.0**-44, set(GENERATIONS) - {"volta"}),
        (2.0**-45, {"hopper", "blackwell"}),
        (2.0**-46, {"hopper", "blackwell"}),
        (2.0**-47, set()),
    ],
)
def test_least_emax_of_f16(small, rounded_up):
    """Half of the smallest f16 is a tie that goes to zero, unless a small product beside it is kept."""
    products = {0: (2.0**-12, 2.0**-13), 1: (2.0**-23, small * 2.0**23)}
    expected = {name: int(name in rounded_up) for name in GENERATIONS}
    assert found(F16_F16, f16, products, 0) == expected


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("exact", 0), ("exact.rn", 0), ("exact.rz", 0), ("exact.rm", 0), ("exact.rp", 1)],
)
def test_exact_keeps_everything(mode, expected):
    """1 and a product of 2**-48: no generation sees it, and exact arithmetic rounds it as asked."""
    result = one_element(F16_F32, f16, {0: (2.0**-24, 2.0**-24)}, f32(1.0), mode)
    assert result == f32(1.0) + expected


@pytest.mark.parametrize("mode", ["exact", "exact.rn", "exact.rz", "exact.rm", "exact.rp"])
def test_zeros_of_exact_sums_are_those_of_ieee_754(mode):
    """A cancelled sum is +0 (`rm`: -0); zeros of one sign keep it, and so does underflow."""
    minus = f32(-0.0)
    products = {0: (1.0, 1.0), 1: (-1.0, 1.0)}
    assert one_element(F16_F32, f16, products, 0, mode) == (minus if mode == "exact.rm" else 0)
    # All sixteen products are negative zeros, and so is c.
    assert one_element(F16_F32, f16, dict.fromkeys(range(16), (-0.0, 1.0)), minus, mode) == minus
    assert one_element(F16_F32, f16, {}, 0, mode) == 0
    underflow = one_element(F16_F16, f16, {0: (-(2.0**-24), 2.0**-24)}, 0, mode)
    assert underflow == (0x8001 if mode == "exact.rm" else 0x8000)
    assert one_element(F16_F32, f16, dict.fromkeys(range(16), (-0.0, 1.0)), minus, "hopper") == 0


def test_exact_cancels_without_loss():
    products = {0: (2.0**15, 2.0**15), 1: (2.0**-24, 2.0**-24), 2: (-(2.0**15), 2.0**15)}
    assert one_element(F16_F32, f16, products, 0, "exact") == f32(2.0**-48)
    assert found(F16_F32, f16, products, 0) == by_name(others=0)
