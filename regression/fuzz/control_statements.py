"""Statements of programs with branches, calls and memory: their text, and what they do to a thread."""

from collections.abc import Callable
from random import Random
from typing import Any, Final

import ml_dtypes
import numpy as np

from regression.fuzz.scalar_programs import evaluate, signed

VARIABLES: Final = 5
LOCAL_WORDS: Final = 8
"""Of the local array of a thread."""

MASK: Final = (1 << 32) - 1


class Thread:
    """What a thread has: variables, a local array, what it adds to the sum of all."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.variables = [number * 0x9E3779B1 + place & MASK for place in range(VARIABLES)]
        self.local = [number] * LOCAL_WORDS
        self.added = 0


Value = tuple[str, Callable[[Thread], int]]
Statement = tuple[str, Callable[[Thread], None]]


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
    **{"0": 0, "1": 1, "3+4": 7, "~0": MASK, "-(5)": MASK - 4, "(1<<4)|3": 19},
    **{"0x80000000": 1 << 31, "7 % 4": 3, "2>1?9:8": 9, "0b101": 5, "017": 15},
}
_ELEMENTS: Final[dict[str, Any]] = {
    **{"u8": 8, "s16": 16, "u32": 32, "b32": 32},
    **{"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16},
}


class Writer:
    """Draws statements; each is text, and what it does to a thread."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.module: list[str] = []
        self._labels = 0
        self._functions: list[Callable[[int, int, int], int]] = []
        for _ in range(random.randrange(3)):
            self._function()
        self._tables = [self._table() for _ in range(random.randrange(3))]

    def value(self) -> Value:
        """A variable, the number of the thread or a constant expression."""
        way = self.random.random()
        if way < 0.6:
            place = self.random.randrange(VARIABLES)
            return f"%v{place}", lambda thread: thread.variables[place]
        if way < 0.75:
            return "%t", lambda thread: thread.number
        text, constant = self.random.choice(list(_CONSTANTS.items()))
        return text, lambda thread: constant

    def statements(self, depth: int) -> Statement:
        """One to four statements."""
        found = [self.statement(depth) for _ in range(self.random.randrange(1, 5))]

        def run(thread: Thread) -> None:
            for _, each in found:
                each(thread)

        return "\n".join(text for text, _ in found), run

    def statement(self, depth: int) -> Statement:
        """Any statement; none within others beyond a depth."""
        simple = (self._assign, self._assign, self._store, self._load, self._call, self._look_up, self._add)
        nested = (self._if, self._loop, self._switch, self._guarded)
        if depth and self.random.random() < 0.4:
            return self.random.choice(nested)(depth - 1)
        return self.random.choice(simple)()

    def _label(self) -> str:
        self._labels += 1
        return f"L{self._labels}"

    def _targets(self, *values: Callable[[Thread], int]) -> tuple[list[str], Callable[[Thread], None]]:
        """Variables that get values, which are known before any of them changes."""
        places = [self.random.randrange(VARIABLES) for _ in values]

        def run(thread: Thread) -> None:
            for place, new in zip(places, [value(thread) for value in values], strict=True):
                thread.variables[place] = new

        return [f"%v{place}" for place in places], run

    def _assign(self) -> Statement:
        (a, left), (b, right) = self.value(), self.value()
        name = self.random.choice(_OPERATIONS)
        (target,), run = self._targets(lambda thread: evaluate(name, left(thread), right(thread)))
        return f"{name} {target}, {a}, {b};", run

    def _condition(self) -> tuple[str, Callable[[Thread], bool]]:
        (a, left), (b, right) = self.value(), self.value()
        name, holds = self.random.choice(list(_COMPARISONS.items()))
        return f"setp.{name} %p, {a}, {b};", lambda thread: holds(left(thread), right(thread))

    def _guarded(self, depth: int) -> Statement:
        text, holds = self._condition()
        inner, run = self._assign()
        return f"{text} @%p {inner}", lambda thread: run(thread) if holds(thread) else None

    def _if(self, depth: int) -> Statement:
        text, holds = self._condition()
        (yes, run_yes), (no, run_no) = self.statements(depth), self.statements(depth)
        other, end = self._label(), self._label()
        return (
            f"{text} @!%p bra {other};\n{yes}\nbra {end};\n{other}:\n{no}\n{end}:",
            lambda thread: run_yes(thread) if holds(thread) else run_no(thread),
        )

    def _loop(self, depth: int) -> Statement:
        """A loop that counts in a register, in local memory, or in local memory through a function."""
        count, times = self.value()
        body, run = self.statements(depth)
        begin, end, word = self._label(), self._label(), f"[counters+{4 * depth}]"
        load, store = f"ld.local.u32 %n, {word};", f"st.local.u32 {word}, %n;"
        called = f"{{ .param .b64 at; st.param.b64 [at], %c{depth}; call step, (at); }} {load}"
        ways = {
            f"sub.u32 %n{depth}, %n{depth}, 1; mov.u32 %n, %n{depth};": f"mov.u32 %n{depth}, %n;",
            f"{load} add.s32 %n, %n, -1; {store}": store,
            called: store,
        }
        step, counter = self.random.choice(list(ways.items()))
        text = (
            f"and.b32 %n, {count}, 3; {counter}\n{begin}: setp.eq.u32 %p, %n, 0; @%p bra {end};\n"
            f"{body}\n{step}\nbra {begin};\n{end}:"
        )

        def repeat(thread: Thread) -> None:
            for _ in range(times(thread) & 3):
                run(thread)

        return text, repeat

    def _switch(self, depth: int) -> Statement:
        chosen, index = self.value()
        ways = [self.statements(depth) for _ in range(3)]
        labels, end = [self._label() for _ in ways], self._label()
        arms = "\n".join(
            f"{label}:\n{text}\nbra {end};" for label, (text, _) in zip(labels, ways, strict=True)
        )
        return (
            f"rem.u32 %n, {chosen}, 3; {end}T: .branchtargets {', '.join(labels)}; brx.idx %n, {end}T;\n"
            f"{arms}\n{end}:",
            lambda thread: ways[index(thread) % 3][1](thread),
        )

    def _place(self) -> Value:
        index, number = self.value()
        text = f"and.b32 %n, {index}, {LOCAL_WORDS - 1}; mul.wide.u32 %at, %n, 4; add.u64 %at, %at, %local;"
        return text, lambda thread: number(thread) & LOCAL_WORDS - 1

    def _store(self) -> Statement:
        (text, place), (a, value) = self._place(), self.value()

        def run(thread: Thread) -> None:
            thread.local[place(thread)] = value(thread)

        return f"{text} mov.u32 %n, {a}; st.local.u32 [%at], %n;", run

    def _load(self) -> Statement:
        text, place = self._place()
        (target,), run = self._targets(lambda thread: thread.local[place(thread)])
        return f"{text} ld.local.u32 {target}, [%at];", run

    def _add(self) -> Statement:
        a, value = self.value()

        def run(thread: Thread) -> None:
            thread.added += value(thread)

        text = f"mov.u32 %n, {a}; red.global.add.u32 [%sum], %n;"
        return self.random.choice((text, text.replace("red.global.add.u32", "atom.global.add.u32 %n,"))), run

    def _function(self) -> None:
        """A function of a word and a structure of two words, which writes to its copies of both."""
        one, two, three = (self.random.choice(_OPERATIONS) for _ in range(3))
        self.module.append(
            f".func (.param .b32 r) f{len(self._functions)}(.param .b32 x, .param .align 4 .b8 s[8]) {{\n"
            ".reg .b32 %x, %y, %z; .reg .b64 %s;\n"
            "ld.param.u32 %x, [x]; ld.param.u32 %y, [s]; ld.param.u32 %z, [s+4]; mov.u64 %s, s;\n"
            f"{one} %x, %x, %y; st.local.u32 [%s+4], %x; {two} %x, %x, %z; ld.local.u32 %z, [%s+4];\n"
            f"{three} %x, %x, %z; st.param.b32 [r], %x; ret;\n}}"
        )

        def run(x: int, y: int, z: int) -> int:
            first = evaluate(one, x, y)
            return evaluate(three, evaluate(two, first, z), first)

        self._functions.append(run)

    def _call(self) -> Statement:
        if not self._functions:
            return self._assign()
        number = self.random.randrange(len(self._functions))
        (a, x), (b, y), (c, z) = self.value(), self.value(), self.value()
        function = self._functions[number]
        (target, again), run = self._targets(lambda thread: function(x(thread), y(thread), z(thread)), y)
        result = self.random.choice(("o", "p"))
        return (
            "{ .param .b32 p; .param .align 4 .b8 q[8]; .param .b32 o;\n"
            f"mov.u32 %n, {a}; st.param.b32 [p], %n;\n"
            f"mov.u32 %n, {b}; st.param.b32 [q], %n; mov.u32 %n, {c}; st.param.b32 [q+4], %n;\n"
            f"call ({result}), f{number}, (p, q);\n"
            f"ld.param.b32 {target}, [{result}]; ld.param.b32 {again}, [q]; }}",
            run,
        )

    def _table(self) -> tuple[str, str, list[int]]:
        """A variable with an initialiser in which lists may be incomplete; its elements as bit patterns."""
        kind, width = self.random.choice(list(_ELEMENTS.items()))
        rows, columns = self.random.choice(((1, 5), (2, 2), (3, 4)))
        space = self.random.choice(("global", "const"))
        name = f"table{len(self.module)}"
        is_integer = isinstance(width, int)
        known: tuple[Any, ...] = (1, 100, -1 if kind[0] == "s" else 127) if is_integer else (1.5, -2.0, 0.25)
        lists = [
            self.random.choices(known, k=self.random.randrange(1, columns + 1))
            for _ in range(self.random.randrange(1, rows + 1))
        ]
        text = ", ".join("{" + ", ".join(map(str, row)) + "}" for row in lists)
        flat = [item for row in lists for item in (*row, *[0] * (columns - len(row)))]
        flat += [0] * (rows * columns - len(flat))
        bits = width if is_integer else 8 * np.dtype(width).itemsize
        if not is_integer:
            flat = np.array(flat, width).view(f"u{bits // 8}").tolist()
        self.module.append(f".{space} .align 4 .{kind} {name}[{rows}][{columns}] = {{{text}}};")
        return f"{space}.u{bits}", name, [item & (1 << bits) - 1 for item in flat]

    def _look_up(self) -> Statement:
        if not self._tables:
            return self._assign()
        access, name, elements = self.random.choice(self._tables)
        index, number = self.value()
        (target,), run = self._targets(lambda thread: elements[number(thread) % len(elements)])
        size = int(access.split(".u")[1]) // 8
        register, widened = (target, "") if size == 4 else ("%h", f" cvt.u32.u16 {target}, %h;")
        return (
            f"rem.u32 %n, {index}, {len(elements)}; mul.wide.u32 %at, %n, {size}; mov.u64 %d, {name};\n"
            f"add.u64 %at, %at, %d; ld.{access} {register}, [%at];{widened}",
            run,
        )
