"""Mangled names: read where that is short, shown as they are where it is not."""

import time

import pytest

from golden.limits import DEMANGLED_CHARACTERS, MANGLED_CHARACTERS, NAME_CHARACTERS
from golden.simt import names
from golden.simt.names import matches, readable


def reference(number: int) -> str:
    """``S_``, ``S0_``, ``S1_``, ...: the substitutions in order."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    text = ""
    number -= 1
    while number >= 0:
        text = digits[number % 36] + text
        number = number // 36 - 1 if number >= 36 else -1
    return f"S{text}_"


def doubled(count: int) -> str:
    """``P`` makes two substitutions of each function that takes the one before twice."""
    return "P1A" + "".join(f"PFv{reference(2 * i + 1)}{reference(2 * i + 1)}E" for i in range(count))


def members(count: int) -> str:
    return "P1A" + "".join(f"PM{reference(i + 1)}{reference(i + 1)}" for i in range(count))


HANGS = {
    "templates": "_Z1f1A" + "".join(f"1TI{reference(i)}{reference(i)}E" for i in range(60)),
    "functions": f"_Z1f{doubled(16)}",
    "many functions": f"_Z1f{doubled(60)}",
    "members": f"_Z1f{members(24)}",
    "many members": f"_Z1f{members(140)}",
    "in a template": f"_Z1fI{members(14)}EvPT_",
    "a long argument many times": f"_Z1fIN{'9aaaaaaaaa' * 60}EEv{'T_' * 500}",
    "a grown argument many times": f"_Z1fI{members(10)}Ev{'T8_' * 300}",
    "pointers": f"_Z1f{'P' * 1500}i",
    "very many pointers": f"_Z1f{'P' * 100_000}i",
    "qualifiers": f"_Z1f{'PK' * 700}i",
    "nested templates": f"_Z1f{'1AI' * 400}i{'E' * 400}",
    "nested names": f"_ZN{'1a' * 900}E",
    "names in names": f"_Z1fIXadL_Z1f{members(20)}EEEvv",
    "a name in a name": f"_Z1fIL_Z1g{members(30)}EEvv",
    "digits": f"_Z{'9' * 5000}a",
    "digits of a substitution": f"_ZS{'Z' * 2000}_",
    "digits of an array": f"_Z1fA{'9' * 2000}_i",
    "a long name": f"_Z{100_000}{'x' * 100_000}v",
    "kilobytes": "_Z" + "1a" * 500_000,
}


@pytest.mark.parametrize("name", HANGS.values(), ids=HANGS)
def test_a_name_takes_little_time_and_room(name):
    names._written.cache_clear()
    start = time.process_time()
    shown = readable(name)
    assert not matches(name, "other")
    assert matches(name, name)
    assert time.process_time() - start < 2
    assert len(shown) <= NAME_CHARACTERS
    written = names._written(name)
    assert written is None or len(written) <= 4 * DEMANGLED_CHARACTERS


@pytest.mark.parametrize("count", [16, 24, 60, 140])
def test_a_name_that_grows_is_shown_as_it_is(count):
    assert readable(f"_Z1f{members(count)}").startswith("_Z1fP1APMS0_S0_PMS1_S1_")


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("_Z3addPfS_i", "add(float*, float*, int)"),
        ("_Z1fIfLi8EEvPT_S1_", "void f<float, (int)8>(float*, float*)"),
        ("_ZN1a1b1cE", "a::b::c"),
        (f"_Z1f{doubled(2)}", "f(A*, void (*)(A*, A*), void (*)(void (*)(A*, A*), void (*)(A*, A*)))"),
        ("plain", "plain"),
        ("_Z", "_Z"),
        ("_Z1", "_Z1"),
        ("_ZZ1fvE1x", "_ZZ1fvE1x"),
        (f"_ZN{'4abcd' * 20}E", "::".join(["abcd"] * 20)),
    ],
)
def test_a_name_is_read_as_before(name, written):
    assert readable(name) == written


def test_a_library_template_is_read():
    """Hundreds of characters and tens of substitutions, as of CUTLASS."""
    shape = "NS1_9GemmShapeILi128ELi128ELi8EEE"
    mainloop = f"NS1_11threadblock12MmaPipelinedI{shape * 6}EE"
    name = f"_ZN7cutlass6KernelINS_4gemm6kernel4GemmI{mainloop}EEEEvNT_6ParamsE"
    assert len(name) < MANGLED_CHARACTERS
    assert readable(name).startswith("void cutlass::Kernel<cutlass::gemm::kernel::Gemm<")
    assert matches(name, "cutlass::Kernel")
