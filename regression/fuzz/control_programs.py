"""Kind ``control``: legal programs with branches, calls and memory, which Python interprets as well."""

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

import numpy as np

from golden.simt.device_memory import DeviceMemory
from golden.simt.module import Module
from regression.fuzz.control_statements import LOCAL_WORDS, MASK, VARIABLES, Thread, Writer
from regression.fuzz.corpus import HEADER
from regression.fuzz.kind import Files, Kind, PropertyError


def _together(random: Random, threads: Sequence[Thread]) -> tuple[str, Callable[[], None]]:
    """A statement of all threads: through shared memory, or within warps where these are whole."""
    source, target = random.randrange(VARIABLES), random.randrange(VARIABLES)
    step = random.choice((1, 2, 5))
    mnemonics: dict[str, Callable[[list[int], int], int]] = {
        f"shfl.sync.bfly.b32 %v{target}, %v{source}, {step}, 31, -1;": lambda old, lane: old[lane ^ step],
        f"shfl.sync.idx.b32 %v{target}, %v{source}, {step}, 31, -1;": lambda old, lane: old[step],
        f"shfl.sync.down.b32 %v{target}, %v{source}, {step}, 31, -1;": lambda old, lane: old[
            lane + step if lane + step < 32 else lane
        ],
        f"redux.sync.add.u32 %v{target}, %v{source}, -1;": lambda old, lane: sum(old) & MASK,
        f"setp.lt.s32 %p, %v{source}, 0; vote.sync.ballot.b32 %v{target}, %p, -1;": lambda old, lane: sum(
            (value >> 31) << place for place, value in enumerate(old)
        ),
    }
    count = len(threads)
    text = (
        "mul.wide.u32 %at, %t, 4; mov.u64 %d, exchange; add.u64 %at, %at, %d;\n"
        f"st.shared.u32 [%at], %v{source};\n"
        f"bar.sync 0; add.u32 %n, %t, {step}; rem.u32 %n, %n, {count}; mul.wide.u32 %at, %n, 4;\n"
        f"add.u64 %at, %at, %d; ld.shared.u32 %v{target}, [%at]; bar.sync 0;"
    )
    group = count
    operation: Callable[[list[int], int], int] = lambda old, lane: old[(lane + step) % count]  # noqa: E731
    if count % 32 == 0 and random.random() < 0.7:
        group, (text, operation) = 32, random.choice(list(mnemonics.items()))

    def run() -> None:
        old = [thread.variables[source] for thread in threads]
        for place, thread in enumerate(threads):
            first = place // group * group
            thread.variables[target] = operation(old[first : first + group], place - first)

    return text, run


def _make(random: Random) -> Files:
    """A kernel, and the variables of each thread after each of its statements."""
    threads = [Thread(number) for number in range(random.choice((1, 4, 32, 40, 64)))]
    writer = Writer(random)
    lines: list[str] = []
    expected: list[list[list[int]]] = []
    for _ in range(random.randrange(1, 6)):
        if random.random() < 0.3:
            text, together = _together(random, threads)
            together()
        else:
            text, run = writer.statement(3)
            for thread in threads:
                run(thread)
        stores = " ".join(
            f"st.global.u32 [%out+{4 * (len(expected) * VARIABLES + place)}], %v{place};"
            for place in range(VARIABLES)
        )
        lines.append(f"{text}\n{stores}")
        expected.append([list(thread.variables) for thread in threads])
    variables = "\n".join(f"mad.lo.u32 %v{place}, %t, 0x9E3779B1, {place};" for place in range(VARIABLES))
    words = "\n".join(f"st.local.u32 [words+{4 * place}], %t;" for place in range(LOCAL_WORDS))
    counters = " ".join(f"add.u64 %c{depth}, %c, {4 * depth};" for depth in range(3))
    text = f"""{HEADER}{chr(10).join(writer.module)}
.func step(.param .b64 at) {{
.reg .b64 %a; .reg .b32 %n; ld.param.u64 %a, [at]; ld.u32 %n, [%a]; sub.u32 %n, %n, 1; st.u32 [%a], %n; ret;
}}
.entry k(.param .u64 out, .param .u64 sum) {{
.local .align 8 .b8 words[{4 * LOCAL_WORDS}]; .local .align 4 .u32 counters[3]; .shared .u32 exchange[64];
.reg .b32 %v<{VARIABLES}>, %n, %n0, %n1, %n2, %t; .reg .b64 %out, %sum, %at, %local, %d, %c, %c0, %c1, %c2;
.reg .b16 %h; .reg .pred %p;
mov.u32 %t, %tid.x; ld.param.u64 %out, [out]; ld.param.u64 %sum, [sum]; mov.u64 %local, words;
mov.u64 %c, counters; cvta.local.u64 %c, %c; {counters}
mul.wide.u32 %at, %t, {4 * VARIABLES * len(expected)}; add.u64 %out, %out, %at;
{variables}
{words}
{chr(10).join(lines)}
ret;
}}
"""
    total = sum(thread.added for thread in threads) & MASK
    check = random.random() < 0.3
    return {"kernel.ptx": text.encode(), "values.json": json.dumps([expected, total, check]).encode()}


def _run(files: Files) -> Any:
    """Launch a kernel of `_make` and compare."""
    expected, total, check = json.loads(files["values.json"])
    steps, threads, _ = np.shape(expected)
    got, added = np.zeros((threads, steps, VARIABLES), np.uint32), np.zeros(1, np.uint32)
    module = Module(files["kernel.ptx"].decode(), "kernel.ptx", memory=DeviceMemory())
    module.kernel().launch(1, threads, [got, added], check=check, races=check)
    for step, values in enumerate(expected):
        for thread, want in enumerate(values):
            if got[thread, step].tolist() != want:
                seen = f"thread {thread}, statement {step}: {got[thread, step].tolist()}, not {want}"
                raise PropertyError("a program gives the variables of the reference", seen)
    if int(added[0]) != total:
        raise PropertyError("atomic additions of all threads arrive", f"{added[0]}, not {total}")
    return got, added


CONTROL_PROGRAMS: Final = Kind(make=_make, run=_run, errors=(), pieces=None)
