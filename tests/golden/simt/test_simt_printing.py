"""``printf`` prints what C prints, and a failed assertion is named."""

import numpy as np
import pytest
from short_kernels import kernel, run

from golden.ptx.source import PtxError
from golden.simt.errors import KernelFault

DECLARED = """
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
"""
PRINT = """
.local .align 16 .b8 values[64];
{stores}
mov.u64 %rd2, format; cvta.global.u64 %rd2, %rd2; mov.u64 %rd3, values; cvta.local.u64 %rd3, %rd3;
{{ .param .b64 a; .param .b64 b; .param .b32 r;
st.param.b64 [a], %rd2; st.param.b64 [b], %rd3;
call.uni (r), vprintf, (a, b);
ld.param.b32 %r1, [r]; }}
st.global.u32 [%rd1], %r1;
"""
FAIL = """
setp.eq.u32 %p0, %r0, 3; @!%p0 bra DONE;
mov.u64 %rd2, message; cvta.global.u64 %rd2, %rd2; mov.u64 %rd3, file; cvta.global.u64 %rd3, %rd3;
{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
st.param.b64 [a], %rd2; st.param.b64 [b], %rd3; st.param.b32 [c], 27; st.param.b64 [d], %rd3;
st.param.b64 [e], 1; call.uni __assertfail, (a, b, c, d, e); }
DONE: st.global.u32 [%rd1], %r0;
"""


def declared(name, text):
    """A variable that holds a text."""
    content = [*text.encode(), 0]
    return f".global .align 1 .b8 {name}[{len(content)}] = {{{', '.join(map(str, content))}}};"


def printed(template, arguments, capfd, threads=1):
    """What golden prints, and the counts; arguments are (bits of each, raw bits)."""
    stores, offset = [], 0
    for bits, value in arguments:
        offset += -offset % (bits // 8)
        stores.append(f"st.local.b{bits} [values+{offset}], {value % (1 << bits):#x};")
        offset += bits // 8
    before = DECLARED + declared("format", template)
    counts = run(PRINT.format(stores=" ".join(stores)), threads, before=before)
    return capfd.readouterr().out, counts.tolist()


def bits_of(*numbers):
    """Values of f64."""
    return [(64, int(np.float64(number).view(np.uint64))) for number in numbers]


@pytest.mark.parametrize(
    ("template", "values", "text"),
    [
        ("%d %i %u", [(32, -1), (32, 1 << 31), (32, -1)], "-1 -2147483648 4294967295"),
        ("%x %#X %o %#o", [(32, -1), (32, 171), (32, 8), (32, 8)], "ffffffff 0XAB 10 010"),
        ("%hd %hhu %hhd", [(32, 0x18000), (32, 0x1FF), (32, 0xFF)], "-32768 255 -1"),
        ("%lld %d %lu", [(64, -(1 << 63)), (32, 5), (64, -1)], "-9223372036854775808 5 18446744073709551615"),
        ("%zu|%td|%jx", [(64, 1 << 40), (64, -2), (64, 1 << 63)], "1099511627776|-2|8000000000000000"),
        ("<%5d|%-5d|%05d|%+d|% d|%.3d>", [(32, 42)] * 6, "<   42|42   |00042|+42| 42|042>"),
        ("%09.3d|%.0d|%#x", [(32, -1), (32, 0), (32, 0)], "     -001||0"),
        ("%f %.1f %.0f", bits_of(1.5, -0.05, 2.5), "1.500000 -0.1 2"),
        ("%e %G %g %a", bits_of(12345.678, 1e-10, 1e5, 3.0), "1.234568e+04 1E-10 100000 0x1.8p+1"),
        (
            "%f %F %5.1f %-8gx %lf",
            bits_of(np.inf, -np.inf, np.nan, 0.5, -0.0),
            "inf -INF   nan 0.5     x -0.000000",
        ),
        ("%d %f %d", [(32, 1), *bits_of(0.25), (32, 2)], "1 0.250000 2"),
        ("%c%c|%3c|%-3c|", [(32, 72), (32, 105), (32, 33), (32, 33)], "Hi|  !|!  |"),
        ("%p %p", [(64, 0x7F00), (64, 0)], "0x7f00 (nil)"),
        ("100%% of %d%%\n", [(32, 7)], "100% of 7%\n"),
        ("%*d|%-*d|%.*f", [(32, 4), (32, 1), (32, 4), (32, 2), (32, 1), *bits_of(0.25)], "   1|2   |0.2"),
        ("%n %Lf %ls %y %d %", [(32, 9)], "%n %Lf %ls %y 9 %"),
        ("", [], ""),
    ],
)
def test_values_are_printed_as_in_c(template, values, text, capfd):
    found, counts = printed(template, values, capfd, threads=3)
    assert found == 3 * text
    assert counts == [len(values)] * 3


def test_texts_are_read_from_memory(capfd):
    stores = "mov.u64 %rd4, word; cvta.global.u64 %rd4, %rd4; st.local.v2.b64 [values], {%rd4, %rd4};"
    before = DECLARED + declared("format", "%s, %.3s\n") + declared("word", "tensor")
    assert run(PRINT.format(stores=stores), 2, before=before).tolist() == [2, 2]
    assert capfd.readouterr().out == "tensor, ten\n" * 2


def test_each_thread_prints_in_its_turn(capfd):
    found, counts = printed("one\n", [], capfd, threads=40)
    assert found == "one\n" * 40
    assert counts == [0] * 40


@pytest.mark.parametrize("width", [65537, -65537])
def test_a_text_beyond_the_limit_is_a_fault(width, capfd):
    assert printed("%*d", [(32, 65536), (32, 1)], capfd) == (f"{1:65536}", [2])
    with pytest.raises(KernelFault, match="printf of more than 65536 bytes"):
        printed("%*d", [(32, width), (32, 1)], capfd)


@pytest.mark.parametrize("source", ["%r4", "%r5"])
def test_blocks_in_several_processes_print_once(source, capfd):
    """%r5 is what the block before has stored, so the grid runs again in one process."""
    body = """
    mov.u32 %r4, %ctaid.x; cvt.u64.u32 %rd5, %r4; shl.b64 %rd5, %rd5, 2; add.u64 %rd5, %rd0, %rd5;
    ld.global.u32 %r5, [%rd5]; add.u32 %r6, %r5, 1; st.global.u32 [%rd5+4], %r6;
    """
    body += PRINT.format(stores=f"st.local.b32 [values], {source};").replace("st.global.u32 [%rd1], %r1;", "")
    before = DECLARED + declared("format", "%d\n")
    for jobs in (1, 3):
        kernel(body, before).launch(30, 1, [np.zeros(31, np.uint32)], jobs=jobs)
        assert capfd.readouterr().out == "".join(f"{block}\n" for block in range(30))


def test_a_failed_assertion_is_named(capfd):
    before = DECLARED + declared("message", "x < 3") + declared("file", "a.cu")
    with pytest.raises(KernelFault, match=r"a\.cu:27: a\.cu: assertion `x < 3` failed .*thread \(3, 0, 0\)"):
        run(FAIL, 5, before=before)


def test_a_call_without_the_values_is_refused():
    with pytest.raises(PtxError, match="vprintf takes 2 arguments or more"):
        run("{ .param .b32 r; call (r), vprintf, (%rd1); }", 1, before=DECLARED)
