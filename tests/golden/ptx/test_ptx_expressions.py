"""Constant expressions, as the assembler evaluates them, and what is wrong in one."""

import pytest

from golden.ptx import PtxError
from golden.ptx.expressions import ConstantParser
from golden.ptx.scalar_types import float_bits
from golden.ptx.source import Source

ASSEMBLED = {
    "3+4": "7",
    "~0": "ffffffffffffffff",
    "-1": "ffffffffffffffff",
    "!5": "0",
    "!0": "1",
    "(1<<4)|3": "13",
    "1<<63": "8000000000000000",
    "-1>>1": "ffffffffffffffff",
    "~0>>1": "7fffffffffffffff",
    "7/2": "3",
    "-7/2": "fffffffffffffffd",
    "-7 % 3": "0",
    "7 % -3": "7",
    "-7 % -3": "fffffffffffffff9",
    "0xffffffffffffffff/2": "7fffffffffffffff",
    "-1/2U": "7fffffffffffffff",
    "-1<0": "1",
    "-1<0U": "0",
    "1?-1:2U": "ffffffffffffffff",
    "(-1?-1:2U)>>1": "ffffffffffffffff",
    "(.s64)~0>>1": "ffffffffffffffff",
    "(.u64)-1>>1": "7fffffffffffffff",
    "1<<64": "1",
    "1<<65": "2",
    "1>>64": "1",
    "-1>>64": "ffffffffffffffff",
    "-1>>100": "ffffffffffffffff",
    "1<<-1": "8000000000000000",
    "-1>>-1": "ffffffffffffffff",
    "~0>>64": "ffffffffffffffff",
    "~0>>63": "1",
    "5==5": "1",
    "5!=5": "0",
    "2>1": "1",
    "2>=2": "1",
    "3&&0": "0",
    "3||0": "1",
    "0||0": "0",
    "5&3": "1",
    "5^3": "6",
    "5|3": "7",
    "-5&7U": "3",
    "(-5&7U)>>1": "1",
    "(-5&-1)>>1": "fffffffffffffffd",
    "0x8000000000000000>>63": "1",
    "0x7fffffffffffffff+1>>1": "c000000000000000",
    "0x7fffffffffffffff*2": "fffffffffffffffe",
    "-0x8000000000000000/-1": "0",
    "(-9223372036854775807-1) % -1": "8000000000000000",
    "+5": "5",
    "- -5": "5",
    "~-1": "0",
    "!~0": "0",
    "2*3+4": "a",
    "2+3*4": "e",
    "1+2<<3": "18",
    "1<<2+3": "20",
    "7&3==3": "1",
    "1|2^3&4": "3",
    "10-3-2": "5",
    "100/10/2": "5",
    "1?2:0?3:4": "2",
    "0?2:0?3:4": "4",
    "(((7)))": "7",
    "WARP_SZ*2": "40",
    "-9223372036854775807-1": "8000000000000000",
    "18446744073709551615": "ffffffffffffffff",
    "1U-2>>1": "7fffffffffffffff",
    "-1==0xffffffffffffffff": "1",
    "3<2<1": "1",
    "-3>-2>-1": "1",
    "0b101+017": "14",
    "5U % 3": "2",
    "-5 % 3U": "2",
    "(.s64)5U-6>>1": "ffffffffffffffff",
    "-(.u64)1>>60": "f",
    "!(.u64)3": "0",
    "4-(-4)": "8",
    "0x10U<<2U": "40",
    "1&&2||0": "1",
    "~5U": "fffffffffffffffa",
    "0x7fffffff+1": "80000000",
    "0xffffffffffffffff+1": "0",
    "9223372036854775808>>1": "4000000000000000",
    "-9223372036854775808>>1": "4000000000000000",
    "9223372036854775807>>1": "3fffffffffffffff",
    "0x8000000000000000>>1": "4000000000000000",
    "(1==1)-2>>1": "ffffffffffffffff",
    "(1U<2U)-2>>1": "ffffffffffffffff",
    "!1U-1>>1": "ffffffffffffffff",
    "1?1U:-1": "1",
    "(0?1U:-1)>>1": "ffffffffffffffff",
    "(1?1:2)-2>>1": "ffffffffffffffff",
    "-1>>(1U)": "ffffffffffffffff",
    "-1U>>(1)": "7fffffffffffffff",
    "-(1U)>>1": "7fffffffffffffff",
    "+1U-2>>1": "7fffffffffffffff",
    "(1&&1U)-2>>1": "ffffffffffffffff",
    "5/-2": "fffffffffffffffe",
    "-5/2U": "7ffffffffffffffd",
    "5 % -2U": "5",
    "1<2==2>1": "1",
    "1==1!=0": "1",
    "2|1&&0": "0",
    "2^2||0": "0",
    "0&&0==0": "0",
    "1<<1<<1": "4",
    "256>>1>>1": "40",
    "1+1?2:3": "2",
    "0?1:2+3": "5",
    "-3 % 2 + 10": "b",
    "WARP_SZ-33>>1": "ffffffffffffffff",
    "2*-3": "fffffffffffffffa",
    "2- -3": "5",
    "2+~0": "1",
    "1?2:3+4": "2",
    "(1?2:3)+4": "6",
    "1|0?5:6": "5",
}
"""64-bit results of ptxas 13.0, in hexadecimal."""

FLOATS = {"1.5+2.25": 3.75, "-1.5*2.0": -3.0, "1.0/4.0": 0.25, "-(1.5-.25)": -1.25, "+1e+1": 10.0, "5.": 5.0}


def evaluated(text):
    return ConstantParser(Source(f"{text} ;", "k.ptx")).immediate()


@pytest.mark.parametrize("text", ASSEMBLED)
def test_integers_are_what_the_assembler_makes_of_them(text):
    found = evaluated(text)
    assert (found.kind, f"{found.value % 2**64:x}") == ("integer", ASSEMBLED[text])


@pytest.mark.parametrize("text", FLOATS)
def test_floats(text):
    found = evaluated(text)
    assert (found.kind, found.value) == ("f64", float_bits(FLOATS[text], 64))


@pytest.mark.parametrize("sign", ["", "-", "-(", "- -"])
def test_patterns_of_floats_stand_alone(sign):
    text = f"{sign}0f3F800000{')' if '(' in sign else ''}"
    assert evaluated(text).value == (0xBF800000 if sign in ("-", "-(") else 0x3F800000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1/0", "division by zero: the constant 1 / 0"),
        ("7 % 0", "division by zero: the constant 7 % 0"),
        ("0?1/(2-2):5", "division by zero: the constant 1 / 0"),
        ("1.0/0.0", "division by zero: the constant 1.0 / 0"),
        ("1.5+2", "+ does not take constants of types f64 and s64"),
        ("0f3F800000*2.0", "* does not take constants of types f32 and f64"),
        ("~1.5", "~ takes integer constants, not f64"),
        ("1?1.5:2.5", "? takes integer constants, not f64"),
        ("1.5 % 2.0", "% does not take constants of types f64 and f64"),
        ("(.s32)5", "a constant is cast to .s64 or .u64, not to '.s32'"),
        ("(.u64)1.5", "(.u64) takes integer constants, not f64"),
        ("3+", "expected a constant, not ';'"),
        ("(3", "expected ')', not ';'"),
        ("1?2", "expected ':', not ';'"),
        ("0x1ffffffffffffffff", "constant 0x1ffffffffffffffff exceeds 64 bits"),
        ("(" * 65 + "1" + ")" * 65, "a constant expression is nested deeper than 64 levels"),
        ("-" * 20000 + "1", "a constant expression is nested deeper than 64 levels"),
        ("1?2:" * 20000 + "3", "a constant expression is nested deeper than 64 levels"),
    ],
)
def test_errors_name_the_operator_and_its_rule(text, message):
    with pytest.raises(PtxError) as caught:
        evaluated(text)
    assert caught.value.message == message


def test_long_chains_are_no_nesting():
    assert evaluated("+".join(["1"] * 20000)).value == 20000
