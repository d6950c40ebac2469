"""Kind ``control``: legal programs with branches, calls and memory, which Python executes as well.

A program is drawn in two languages at once: a statement is a template of PTX and one of Python.
"""

import json
from collections.abc import Callable
from itertools import count
from random import Random
from string import Template
from textwrap import indent
from typing import Any, Final

import numpy as np

from golden.simt.device_memory import DeviceMemory
from golden.simt.module import Module
from regression.fuzz.kind import Files, Kind, PropertyError
from regression.fuzz.scalar_programs import evaluate, signed
from regression.fuzz.values import HEADER

_VARIABLES: Final = 5
_LOCAL_WORDS: Final = 8
"""Of the local array of a thread."""

_MASK: Final = (1 << 32) - 1

_OPERATIONS: Final = (
    *("add.u32", "sub.s32", "mul.lo.u32", "mul.hi.u32", "xor.b32", "and.b32", "or.b32"),
    *("min.s32", "max.u32", "shl.b32", "shr.u32"),
)
_COMPARISONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "eq.u32": lambda a, b: a == b,
    "ne.s32": lambda a, b: a != b,
    "lt.s32": lambda a, b: signed(a, 32) < signed(b, 32),
    "ge.s32": lambda a, b: signed(a, 32) >= signed(b, 32),
    "lt.u32": lambda a, b: a < b,
    "hi.u32": lambda a, b: a > b,
}
_CONSTANTS: Final = {
    **{"0": 0, "1": 1, "3+4": 7, "~0": _MASK, "-(5)": _MASK - 4, "(1<<4)|3": 19},
    **{"0x80000000": 1 << 31, "7 % 4": 3, "2>1?9:8": 9, "0b101": 5, "017": 15},
}
_ELEMENTS: Final[dict[str, Any]] = {
    **{"u8": np.uint8, "s16": np.int16, "u32": np.uint32, "b32": np.uint32},
    "f32": np.float32,  # the one float type that the assembler initialises and that fits a variable
}

Statement = tuple[str, str]
"""PTX, and Python that does the same to a thread's variables `v`, its number `t`, its array `local`, and
`added`, what it adds to the sum of all. In a template, a to d are values, x and y variables."""

_ASSIGN: Final = ("$op $x, $a, $b;", "$x = evaluate('$op', $a, $b)")
_PLACE: Final = f"and.b32 %n, $a, {_LOCAL_WORDS - 1}; mul.wide.u32 %at, %n, 4; add.u64 %at, %at, %local;"
_LOCAL: Final = f"local[$a & {_LOCAL_WORDS - 1}]"

_SIMPLE: Final[tuple[Statement, ...]] = (
    *(_ASSIGN, _ASSIGN, _ASSIGN),
    (f"{_PLACE} mov.u32 %n, $b; st.local.u32 [%at], %n;", f"{_LOCAL} = $b"),
    (f"{_PLACE} ld.local.u32 $x, [%at];", f"$x = {_LOCAL}"),
    ("mov.u32 %n, $a; red.global.add.u32 [%sum], %n;", "added += $a"),
    ("mov.u32 %n, $a; atom.global.add.u32 %n, [%sum], %n;", "added += $a"),
)

_CONDITION: Final = ("setp.$compare %p, $a, $b;", "if holds['$compare']($a, $b):")
_READ: Final = "ld.local.u32 %n, [counters+$word];"
_WRITE: Final = "st.local.u32 [counters+$word], %n;"
_CALL: Final = "{ .param .b64 at; st.param.b64 [at], %c$depth; call step, (at); }"

_NESTED: Final[tuple[Statement, ...]] = (
    (
        f"{_CONDITION[0]} @!%p bra N$n;\n$first\nbra E$n;\nN$n:\n$second\nE$n:",
        f"{_CONDITION[1]}\n$first\nelse:\n$second",
    ),
    # The counter is in a register, in local memory, or in local memory that a function changes.
    *(
        (
            f"and.b32 %n, $a, 3; {counter}\nB$n: setp.eq.u32 %p, %n, 0; @%p bra E$n;\n"
            f"$first\n{step}\nbra B$n;\nE$n:",
            "for _ in range($a & 3):\n$first",
        )
        for counter, step in (
            ("mov.u32 %n$depth, %n;", "sub.u32 %n$depth, %n$depth, 1; mov.u32 %n, %n$depth;"),
            (_WRITE, f"{_READ} add.s32 %n, %n, -1; {_WRITE}"),
            (_WRITE, f"{_CALL} {_READ}"),
        )
    ),
    (
        "rem.u32 %n, $a, 3; T$n: .branchtargets F$n, S$n, L$n; brx.idx %n, T$n;\n"
        "F$n:\n$first\nbra E$n;\nS$n:\n$second\nbra E$n;\nL$n:\n$third\nbra E$n;\nE$n:",
        "way = $a % 3\nif way == 0:\n$first\nelif way == 1:\n$second\nelse:\n$third",
    ),
    (f"{_CONDITION[0]} @%p $op $x, $c, $d;", f"{_CONDITION[1]} $x = evaluate('$op', $c, $d)"),
)
"""Statements with conditions, most of which have other statements in them."""

_TOGETHER: Final = (
    ("shfl.sync.bfly.b32 $x, $y, $step, 31, -1;", "$x = old[lane ^ $step]"),
    ("shfl.sync.idx.b32 $x, $y, $step, 31, -1;", "$x = old[$step]"),
    ("shfl.sync.down.b32 $x, $y, $step, 31, -1;", "$x = old[lane + $step if lane + $step < 32 else lane]"),
    ("redux.sync.add.u32 $x, $y, -1;", f"$x = sum(old) & {_MASK}"),
    (
        "setp.lt.s32 %p, $y, 0; vote.sync.ballot.b32 $x, %p, -1;",
        "$x = sum((value >> 31) << place for place, value in enumerate(old))",
    ),
)
"""Statements of a whole warp; `old` has y of each lane."""

_EXCHANGE: Final = (
    "mul.wide.u32 %at, %t, 4; mov.u64 %d, exchange; add.u64 %at, %at, %d;\n"
    "st.shared.u32 [%at], $y;\n"
    "bar.sync 0; add.u32 %n, %t, $step; rem.u32 %n, %n, $count; mul.wide.u32 %at, %n, 4;\n"
    "add.u64 %at, %at, %d; ld.shared.u32 $x, [%at]; bar.sync 0;",
    "$x = old[(lane + $step) % $count]",
)
"""The same of all threads, through shared memory."""


class _Writer:
    """Draws statements, and the functions and tables that these use."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.module: list[str] = []
        """Functions and tables in PTX."""
        self.names: dict[str, Any] = {"evaluate": evaluate, "holds": _COMPARISONS}
        """What statements in Python use; functions and tables among it."""
        self._labels = count(1)
        calls = [form for number in range(random.randrange(3)) for form in self._function(number)]
        look_ups = [self._table(number) for number in range(random.randrange(3))]
        self._simple = (*_SIMPLE, *calls, *look_ups)

    def _slots(self, depth: int) -> tuple[dict[str, object], dict[str, object]]:
        """What stands for the names in a template of PTX, and of Python."""
        random = self.random
        both: dict[str, object] = {
            "n": next(self._labels),
            "op": random.choice(_OPERATIONS),
            "compare": random.choice(list(_COMPARISONS)),
            "depth": depth,
            "word": 4 * depth,
        }
        ptx, python = dict(both), dict(both)
        for name in "abcdxy":
            way = random.random()
            if name in "xy" or way < 0.6:
                place = random.randrange(_VARIABLES)
                ptx[name], python[name] = f"%v{place}", f"v[{place}]"
            elif way < 0.75:
                ptx[name], python[name] = "%t", "t"
            else:
                ptx[name], python[name] = random.choice(list(_CONSTANTS.items()))
        return ptx, python

    def statement(self, depth: int) -> Statement:
        """Any statement; none within others beyond a depth."""
        is_nested = depth > 0 and self.random.random() < 0.4
        form = self.random.choice(_NESTED if is_nested else self._simple)
        slots = self._slots(depth - 1)
        for name in ("first", "second", "third"):
            if f"${name}" in form[0]:
                some = [self.statement(depth - 1) for _ in range(self.random.randrange(1, 5))]
                slots[0][name] = "\n".join(ptx for ptx, _ in some)
                slots[1][name] = indent("\n".join(python for _, python in some), " ")
        return Template(form[0]).substitute(slots[0]), Template(form[1]).substitute(slots[1])

    def _function(self, number: int) -> list[Statement]:
        """The calls of a function of a word and a structure of two words, which writes to its copies of both.

        One takes the result from a parameter of another name, one from one of the name of an argument.
        """
        one, two, three = (self.random.choice(_OPERATIONS) for _ in range(3))
        self.module.append(
            f".func (.param .b32 r) f{number}(.param .b32 x, .param .align 4 .b8 s[8]) {{\n"
            ".reg .b32 %x, %y, %z; .reg .b64 %s;\n"
            "ld.param.u32 %x, [x]; ld.param.u32 %y, [s]; ld.param.u32 %z, [s+4]; mov.u64 %s, s;\n"
            f"{one} %x, %x, %y; st.local.u32 [%s+4], %x; {two} %x, %x, %z; ld.local.u32 %z, [%s+4];\n"
            f"{three} %x, %x, %z; st.param.b32 [r], %x; ret;\n}}"
        )

        def run(x: int, y: int, z: int) -> int:
            first = evaluate(one, x, y)
            return evaluate(three, evaluate(two, first, z), first)

        self.names[f"f{number}"] = run
        return [
            (
                "{ .param .b32 p; .param .align 4 .b8 q[8]; .param .b32 o;\n"
                "mov.u32 %n, $a; st.param.b32 [p], %n;\n"
                "mov.u32 %n, $b; st.param.b32 [q], %n; mov.u32 %n, $c; st.param.b32 [q+4], %n;\n"
                f"call ({result}), f{number}, (p, q);\n"
                f"ld.param.b32 $x, [{result}]; ld.param.b32 $y, [q]; }}",
                f"$x, $y = f{number}($a, $b, $c), $b",
            )
            for result in "op"
        ]

    def _table(self, number: int) -> Statement:
        """The look-up in a variable with an initialiser in which lists may be incomplete."""
        kind, dtype = self.random.choice(list(_ELEMENTS.items()))
        rows, columns = self.random.choice(((1, 5), (2, 2), (3, 4)))
        space = self.random.choice(("global", "const"))
        is_float = "f" in kind
        known: tuple[Any, ...] = (1.5, -2.0, 0.25) if is_float else (1, 100, -1 if kind[0] == "s" else 127)
        lists = [
            self.random.choices(known, k=self.random.randrange(1, columns + 1))
            for _ in range(self.random.randrange(1, rows + 1))
        ]
        text = ", ".join("{" + ", ".join(map(str, row)) + "}" for row in lists)
        self.module.append(f".{space} .align 4 .{kind} table{number}[{rows}][{columns}] = {{{text}}};")
        elements = np.zeros((rows, columns), dtype)
        for place, row in enumerate(lists):
            elements[place, : len(row)] = row
        bits = 8 * elements.itemsize
        self.names[f"table{number}"] = elements.reshape(-1).view(f"u{elements.itemsize}").tolist()
        register, widened = ("$x", "") if bits == 32 else ("%h", " cvt.u32.u16 $x, %h;")
        return (
            f"rem.u32 %n, $a, {elements.size}; mul.wide.u32 %at, %n, {bits // 8}; "
            f"mov.u64 %d, table{number};\n"
            f"add.u64 %at, %at, %d; ld.{space}.u{bits} {register}, [%at];{widened}",
            f"$x = table{number}[$a % {elements.size}]",
        )

    def together(self, threads: int) -> tuple[Statement, int]:
        """A statement of so many threads, and how many of them exchange: a warp's, if all warps are whole."""
        is_of_warp = threads % 32 == 0 and self.random.random() < 0.7
        ptx, value = self.random.choice(_TOGETHER) if is_of_warp else _EXCHANGE
        form = ptx, f"old = [$y for v in warp]; {value}"
        slots: dict[str, object] = {"step": self.random.choice((1, 2, 5)), "count": threads}
        ptx, python = (
            Template(text).substitute(some | slots) for text, some in zip(form, self._slots(0), strict=True)
        )
        return (ptx, python), 32 if is_of_warp else threads


def _make(random: Random) -> Files:
    """A kernel, and the variables of each thread after each of its statements."""
    threads: list[dict[str, Any]] = [
        {
            "v": [number * 0x9E3779B1 + place & _MASK for place in range(_VARIABLES)],
            **{"t": number, "local": [number] * _LOCAL_WORDS, "added": 0},
        }
        for number in range(random.choice((1, 4, 32, 40, 64)))
    ]
    writer = _Writer(random)
    lines: list[str] = []
    expected: list[list[list[int]]] = []
    for _ in range(random.randrange(1, 6)):
        if random.random() < 0.3:
            (ptx, python), group = writer.together(len(threads))
        else:
            (ptx, python), group = writer.statement(3), 1
        code = compile(python, "reference", "exec")
        for first in range(0, len(threads), group):
            warp = [list(thread["v"]) for thread in threads[first : first + group]]
            for lane, thread in enumerate(threads[first : first + group]):
                thread |= {"warp": warp, "lane": lane}
                exec(code, writer.names, thread)
        stores = " ".join(
            f"st.global.u32 [%out+{4 * (len(expected) * _VARIABLES + place)}], %v{place};"
            for place in range(_VARIABLES)
        )
        lines.append(f"{ptx}\n{stores}")
        expected.append([list(thread["v"]) for thread in threads])
    variables = "\n".join(f"mad.lo.u32 %v{place}, %t, 0x9E3779B1, {place};" for place in range(_VARIABLES))
    words = "\n".join(f"st.local.u32 [words+{4 * place}], %t;" for place in range(_LOCAL_WORDS))
    counters = " ".join(f"add.u64 %c{depth}, %c, {4 * depth};" for depth in range(3))
    text = f"""{HEADER}{chr(10).join(writer.module)}
.func step(.param .b64 at) {{
.reg .b64 %a; .reg .b32 %n; ld.param.u64 %a, [at]; ld.u32 %n, [%a]; sub.u32 %n, %n, 1; st.u32 [%a], %n; ret;
}}
.entry k(.param .u64 out, .param .u64 sum) {{
.local .align 8 .b8 words[{4 * _LOCAL_WORDS}]; .local .align 4 .u32 counters[3]; .shared .u32 exchange[64];
.reg .b32 %v<{_VARIABLES}>, %n, %n0, %n1, %n2, %t; .reg .b64 %out, %sum, %at, %local, %d, %c, %c0, %c1, %c2;
.reg .b16 %h; .reg .pred %p;
mov.u32 %t, %tid.x; ld.param.u64 %out, [out]; ld.param.u64 %sum, [sum]; mov.u64 %local, words;
mov.u64 %c, counters; cvta.local.u64 %c, %c; {counters}
mul.wide.u32 %at, %t, {4 * _VARIABLES * len(expected)}; add.u64 %out, %out, %at;
{variables}
{words}
{chr(10).join(lines)}
ret;
}}
"""
    total = sum(thread["added"] for thread in threads) & _MASK
    check = random.random() < 0.3
    return {"kernel.ptx": text.encode(), "values.json": json.dumps([expected, total, check]).encode()}


def _run(files: Files) -> Any:
    """Launch a kernel of `_make` and compare."""
    expected, total, check = json.loads(files["values.json"])
    steps, threads, _ = np.shape(expected)
    got, added = np.zeros((threads, steps, _VARIABLES), np.uint32), np.zeros(1, np.uint32)
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
