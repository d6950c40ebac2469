"""Small texts and launches that would take hours or all of memory end with one sentence."""

import itertools
import re
import resource
import subprocess
import sys
import time

import numpy as np
import pytest
from short_kernels import HEADER, kernel

from golden import limits
from golden.ptx.source import PtxError
from golden.simt import Deadlock, Module, StepLimit


def calls(count, times):
    """Functions that each call the next one several times, and a kernel that calls the first."""
    names = [f"f{i}" for i in range(count)]
    declared = "".join(f".func {name}();\n" for name in names)
    bodies = "".join(
        f".func {a}() {{ {f'call {b}, (); ' * times}ret; }}\n" for a, b in itertools.pairwise(names)
    )
    return f"{declared}{bodies}.func {names[-1]}() {{ ret; }}\n.entry k() {{ call f0, (); ret; }}"


def nested(depth):
    return f".entry k() {{ {'{ .reg .b32 q; mov.u32 q, 1; ' * depth}{'}' * depth} ret; }}"


TEXTS = {
    "copies": (calls(21, 2), "k has 6291455 instructions with all its calls, more than 100000"),
    "calls": (calls(200, 1), "calls are nested more than 128 deep"),
    "scopes": (
        f".entry k() {{ {'{' * 20_000} ret; {'}' * 20_000} }}",
        "braces are nested more than 256 deep",
    ),
    "variable": (
        ".global .b8 x[5000000000];",
        "a variable in .global has at most 4294967296 bytes, not 5000000000",
    ),
    "dimensions": (
        ".const .b8 x[70000][70000];",
        "a variable in .const has at most 65536 bytes, not 4900000000",
    ),
    "dimensions of nothing": (
        ".global .b8 x[0][5000000000];",
        "a variable in .global has at most 4294967296 bytes, not 5000000000",
    ),
    "parameters": (
        ".entry k(.param .b8 s[20000], .param .b8 t[20000]) { ret; }",
        "k needs 40000 bytes of parameters, but has at most 32764",
    ),
    "local memory": (
        ".entry k() { .local .b8 x[524288]; .local .b8 y; ret; }",
        "k needs 524304 bytes of local memory a thread, but has at most 524288",
    ),
    "parameters of calls": (
        ".func f(.param .b8 s[4000000000]) { ret; }"
        ".entry k() { .param .b8 a[4000000000]; call f, (a); ret; }",
        "a variable in .param has at most 32764 bytes, not 4000000000",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_refused_at_once(name):
    text, message = TEXTS[name]
    started = time.process_time()
    with pytest.raises(PtxError, match=re.escape(message)) as caught:
        Module(HEADER + text).kernel()
    assert time.process_time() - started < 2
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", [calls(127, 1), nested(limits.SCOPE_DEPTH - 1), calls(12, 2)])
def test_a_text_within_the_limits_runs(text):
    Module(HEADER + text).kernel().launch(1, 32)


def test_variables_are_limited_together(monkeypatch):
    text = f"{HEADER}.global .b8 x[600]; .const .b8 y[600]; .entry k() {{ ret; }}"
    Module(text)
    monkeypatch.setattr("golden.simt.module.VARIABLE_BYTES", 1000)
    with pytest.raises(PtxError, match="the variables up to y have 1200 bytes, more than 1000"):
        Module(text)


def _limited():
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_grid_takes_no_memory_before_it_runs(jobs):
    program = f"""
import numpy as np
from golden.simt import Module, StepLimit
try:
    Module({HEADER + ".entry k() { ret; }"!r}).kernel().launch(2**31 - 1, 32, limit=10, jobs={jobs})
except StepLimit as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=_limited,
    )
    assert done.stdout.startswith("more than 10 warp instructions"), done.stderr


FLAG = "L: ld.volatile.global.u32 %r1, [%rd0]; setp.eq.u32 %p0, %r1, 0; @%p0 bra L;"


def test_blocks_that_wait_are_limited_by_their_memory(monkeypatch):
    monkeypatch.setattr("golden.simt.grid.WAITING_BYTES", 200_000)
    told = (
        r"\d blocks loop without a change, and the 214748363\d blocks behind them cannot start, as no more "
        r"fit in 200000 bytes: block \(0, 0, 0\) at line 14"
    )
    with pytest.raises(Deadlock, match=told):
        kernel(FLAG).launch(2**31 - 1, 32, [np.zeros(1, np.uint32)])


@pytest.mark.parametrize("room", [1, 100_000, 1 << 31])
def test_blocks_that_wait_for_each_other_run_in_what_room_there_is(monkeypatch, room):
    """Each block waits for the one before it, which has started in any case."""
    monkeypatch.setattr("golden.simt.grid.WAITING_BYTES", room)
    body = """
    mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd3, %rd0, %rd2;
    L: ld.volatile.global.u32 %r1, [%rd3]; setp.eq.u32 %p0, %r1, 0; @%p0 bra L;
    add.u32 %r1, %r1, 1; st.volatile.global.u32 [%rd3+4], %r1;"""
    array = np.zeros(41, np.uint32)
    array[0] = 1
    kernel(body).launch(40, 1, [array])
    assert array.tolist() == list(range(1, 42))


def test_an_empty_grid_ends_at_the_limit():
    with pytest.raises(StepLimit, match=r"block \(9, 0, 0\)"):
        Module(f"{HEADER}.entry k() {{ ret; }}").kernel().launch((10, 3, 3), 32, limit=9)
