"""Statements in a kernel, as an H100 executed them: video, ``cvt.pack``, ``fns``, masks of halves.

Each captured body takes the words ``%r1`` to ``%r6`` of 48 threads and gives up to four, from ``%r20`` on.
The assembler was ptxas 13.0.
"""

from functools import cache

import numpy as np
import pytest
from golden_captures import COMPACT
from short_kernels import run

from golden.simt import Module

CHUNK = 100
HEADER = ".version 8.8\n.target sm_90\n.address_size 64\n"


@cache
def captured():
    """The inputs, and each body with its results: one row for each thread."""
    with np.load(COMPACT / "instructions.npz") as loaded:
        arrays = {name: loaded[name] for name in loaded.files}
    threads = len(arrays["inputs"])
    bodies = arrays["bodies"].tobytes().decode().split("\n")
    ends = np.cumsum(arrays["counts"].astype(int) * threads)
    results = np.split(arrays["results"], ends[:-1])
    return arrays["inputs"], [
        (body, part.reshape(threads, -1)) for body, part in zip(bodies, results, strict=True)
    ]


def computed(bodies, inputs):
    """The words %r20 to %r23 of each body and thread."""
    threads = len(inputs)
    out = np.zeros((len(bodies), threads, 4), np.uint32)
    text = "\n".join(
        f"mov.u32 %r20, 0; mov.u32 %r21, 0; mov.u32 %r22, 0; mov.u32 %r23, 0;\n{body}\n"
        f"st.global.v4.u32 [%out+{threads * 16 * index}], {{%r20, %r21, %r22, %r23}};"
        for index, body in enumerate(bodies)
    )
    kernel = f"""{HEADER}.visible .entry k(.param .u64 a, .param .u64 b) {{
        .reg .b32 %r<30>; .reg .b64 %in, %out, %t;
        ld.param.u64 %in, [a]; ld.param.u64 %out, [b]; mov.u32 %r0, %tid.x;
        mul.wide.u32 %t, %r0, 24; add.u64 %in, %in, %t; mul.wide.u32 %t, %r0, 16; add.u64 %out, %out, %t;
        ld.global.v2.u32 {{%r1, %r2}}, [%in]; ld.global.v2.u32 {{%r3, %r4}}, [%in+8];
        ld.global.v2.u32 {{%r5, %r6}}, [%in+16];
        {text} ret; }}"""
    Module(kernel, "bodies.ptx").kernel().launch(1, threads, [inputs.copy(), out])
    return out


def test_there_are_captures():
    assert len(captured()[1]) == 3109


@pytest.mark.parametrize("first", range(0, 3109, CHUNK))
def test_every_body_equals_the_chip(first):
    inputs, bodies = captured()
    some = bodies[first : first + CHUNK]
    found = computed([body for body, _ in some], inputs)
    differing = [
        body
        for (body, results), words in zip(some, found, strict=True)
        if not np.array_equal(words[:, : results.shape[1]], results)
    ]
    assert differing == []


@pytest.mark.parametrize(
    ("static", "dynamic", "sizes"),
    [
        (0, 0, [0, 0, 1024]),
        (0, 100, [128, 100, 1124]),
        (40, 5000, [5120, 5000, 6064]),
        (1000, 0, [1024, 0, 2024]),
    ],
)
def test_sizes_of_shared_memory(static, dynamic, sizes):
    """As an H200 gives them: the total in units of 128 bytes, and all of it with what the chip reserves."""
    declared = f".shared .b8 tile[{static}]; st.shared.u8 [tile], %r0;" if static else ""
    names = ("total", "dynamic", "aggr")
    reads = " ".join(
        f"mov.u32 %r{i}, %{name}_smem_size; st.global.u32 [%rd0+{4 * i}], %r{i};"
        for i, name in enumerate(names)
    )
    found = run(f"{declared} {reads}", threads=1, array=np.zeros(3, np.uint32), shared=dynamic)
    assert found.tolist() == sizes
