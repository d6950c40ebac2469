"""Small inputs that ask for much, and unusual bytes: each is refused in one short sentence, or read."""

import time
from pathlib import Path

import pytest

import openwmma
from golden import limits
from golden.ptx import PtxError
from golden.ptx.source import source_text
from golden.simt import Module
from openwmma.cuda_source import compile_file

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
DIGITS = "7" * 5000


def kernel(body: str, parameters: str = "") -> str:
    registers = ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f64 %fd<9>; .reg .pred %p<9>;"
    return f"{HEAD}.entry k({parameters})\n{{\n{registers}\n{body}\n}}\n"


def compiled(text: str) -> None:
    module = Module(text)
    for name in module.entries:
        module.kernel(name)


def message_of(text: str) -> str:
    with pytest.raises(PtxError) as caught:
        compiled(text)
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) <= limits.MESSAGE_CHARACTERS
    assert max(map(len, message.split())) <= limits.WORD_CHARACTERS
    return message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{HEAD}.global .b8 x[{1 << 40}];", f"a variable in .global has at most {1 << 32} bytes"),
        (f"{HEAD}.global .b8 x[{(1 << 64) - 1}];", "a variable in .global has at most"),
        (f"{HEAD}.global .b8 x[65536][65536][2];", "a variable in .global has at most"),
        (f"{HEAD}.global .b8 x[4294967296][4294967296];", "a variable in .global has at most"),
        (f"{HEAD}.global .b8 x[{1 << 64}];", f"constant {1 << 64} exceeds 64 bits"),
        (f"{HEAD}.global .b8 x[{DIGITS}];", f"a number has at most {limits.NUMBER_CHARACTERS} characters"),
        (f"{HEAD}.global .b8 x[0x{DIGITS}];", "a number has at most"),
        (f"{HEAD}.const .b8 x[65537];", "a variable in .const has at most 65536 bytes, not 65537"),
        (f"{HEAD}.global .align 131072 .b8 x;", "the alignment must be a power of two up to 65536"),
        (f"{HEAD}.global .align {DIGITS} .b8 x;", "a number has at most"),
        (f"{HEAD}.global .u32 x[] = {'{' * 100_000}", "an element of x is a value, not a list"),
        (kernel("ret;", ".param .b8 p[32765]"), "a variable in .param has at most 32764 bytes"),
        (
            kernel("ret;", ".param .b8 p[32764], .param .b8 q"),
            "k needs 32765 bytes of parameters, but has at most 32764",
        ),
        (kernel("ret;", ".param .b8 p, .param .align 32768 .b8 q"), "bytes of parameters"),
        (kernel(".local .b8 x[524289];"), "a variable in .local has at most 524288 bytes"),
        (
            kernel(".local .b8 x[524288]; .local .b8 y;"),
            "k needs 524304 bytes of local memory a thread, but has at most 524288",
        ),
        (kernel(".param .b8 x[32765];"), "a variable in .param has at most 32764 bytes"),
        (kernel(f".reg .b32 %x<{1 << 40}>;"), "registers exceed 1048576"),
        (kernel(f"mov.u32 %r1, {DIGITS};"), "a number has at most"),
        (kernel(f"mov.f64 %fd1, {DIGITS}.0;"), "a number has at most"),
        (kernel(f"mov.u32 %r1, 0b{'1' * 65};"), "exceeds 64 bits"),
        (kernel(f"mov.u32 %r{DIGITS * 200}, 1;"), "is not declared"),
        (kernel(f"mov.u32 {'x' * 1_000_000}, 1;"), "is not declared"),
        (kernel(f"mov{'.u32' * 100_000} %r1, 1;"), ""),
        (f"{HEAD}.visible .{'x' * 1_000_000};", "unknown directive"),
        (kernel("mov.u32 %r1, " + "(" * 100_000), ""),
        (kernel("mov.u32 %r1, " + "[" * 100_000), ""),
        (kernel("mov.u32 %r1, " + "{" * 100_000), ""),
        (kernel("mov.u32 %r1, " + "-" * 100_000 + "1;"), ""),
        (kernel("mov.u32 %r1, " + "!" * 100_000 + "1;"), ""),
        (kernel("@" * 100_000), ""),
        (kernel("mov.b32 {" + "%r1," * 100_000 + "%r1}, %r2;"), "does not split into 100001"),
        (f'{HEAD}.file 1 "{"a" * 1_000_000}\n', "string without its end"),
        (f"{HEAD}/*{'*' * 1_000_000}", "comment without its end"),
    ],
    ids=range(34),
)
def test_what_asks_for_too_much_is_refused_at_once(text, message):
    start = time.process_time()
    assert message in message_of(text)
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "text",
    [
        f"{HEAD}.global .b8 x[65536][1024];",
        f"{HEAD}.const .b8 x[65536];",
        kernel("ret;", ".param .align 16 .b8 p[32764]"),
        kernel(".local .align 65536 .b8 x[524288];"),
        kernel(f".reg .b32 %x<{1 << 20}>; mov.u32 %x1048575, 1;"),
        kernel(f"mov.f64 %fd1, 0.{'0' * 1000}1;"),
        kernel("ret;", ", ".join([".param .b8 _"] * 3)),
        "\ufeff" + kernel("ret;"),
        kernel("// a comment\nret;").replace("\n", "\r\n"),
        kernel("// a comment\nret;").replace("\n", "\r"),
    ],
    ids=range(10),
)
def test_what_is_just_allowed_is_read(text):
    compiled(text)


def test_lines_count_the_same_however_they_end():
    for end in ("\n", "\r\n", "\r"):
        assert message_of(kernel("// a comment\nx;").replace("\n", end)).startswith("<ptx>:8:")


@pytest.mark.parametrize(
    "character",
    [*"\0\x1b\x85\u2028\u202e\u0663\uff13\u00b2\u00e9\udc80\U0001f4a5\ufeff"],
    ids=ascii,
)
@pytest.mark.parametrize("place", ["{};", "mov.u32 %r1, {};", "mov.u32 %r{}, 1;", ".reg .b32 %r{};"])
def test_characters_that_ptx_does_not_have_are_named(place, character):
    assert "unexpected" in message_of(kernel(place.format(character)))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\xfe.\0v\0", "x.ptx:1:1: the byte 0xff is not UTF-8"),
        (b"\n\n// caf\xe9\n", "x.ptx:3:7: the byte 0xe9 is not UTF-8"),
        (b"\n\xe2\x80", "x.ptx:2:1: the byte 0xe2 is not UTF-8"),
        (b"\xc0\xaf", "x.ptx:1:1: the byte 0xc0 is not UTF-8"),
        (b"\xed\xb2\x80", "x.ptx:1:1: the byte 0xed is not UTF-8"),
    ],
)
def test_a_file_that_is_not_utf8_is_refused(tmp_path, monkeypatch, data, message):
    monkeypatch.chdir(tmp_path)
    Path("x.ptx").write_bytes(data)
    for read in (
        lambda: source_text(data, "x.ptx"),
        lambda: openwmma.Module("x.ptx"),
        lambda: compile_file(Path("x.ptx")),
    ):
        with pytest.raises(PtxError) as error:
            read()
        assert str(error.value) == message


def grown(lines: int) -> dict[str, str]:
    """Texts of so many lines, in which everything is declared or named again and again."""
    count = range(lines)
    return {
        "instructions": kernel("add.u32 %r1, %r2, %r3;\n" * lines),
        "in one line": kernel("add.u32 %r1, %r2, %r3; " * lines),
        "labels": kernel("".join(f"L{i}: add.u32 %r1, %r2, %r3;\n" for i in count)),
        "variables": HEAD + "".join(f".global .u64 x{i} = x{i};\n" for i in count),
        "shared": kernel("".join(f".shared .u32 x{i}; mov.u32 %r1, x{i};\n" for i in count)),
        "parameters": kernel("ret;", ", ".join(f".param .u8 p{i}" for i in count)),
        "functions": HEAD + "".join(f".func f{i}() {{ ret; }}\n" for i in count),
        "origins": kernel(".loc 1 2 3\nadd.u32 %r1, %r2, %r3;\n" * lines),
        "values": f"{HEAD}.global .u32 x[] = {{{'1, ' * lines}1}};",
    }


@pytest.mark.parametrize("what", grown(1))
def test_the_time_to_read_grows_as_the_text_does(what):
    def seconds(lines: int) -> float:
        text = grown(lines)[what]
        start = time.process_time()
        compiled(text)
        return time.process_time() - start

    seconds(100)
    assert min(seconds(8 * 500) for _ in range(2)) < 24 * max(seconds(500), 0.005)
