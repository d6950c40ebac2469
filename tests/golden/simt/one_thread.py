"""A slow reference: programs of a small language, run one thread at a time in random order.

A program is a list of statements over four integer variables of each thread, an array in shared memory
with a cell for each thread, and barriers. `ptx` writes it as a kernel; `run` interprets it without any
notion of a warp: each thread is a Python generator that stops at barriers and exchanges.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

VARIABLES = 4
MASK = 0xFFFFFFFF


@dataclass(frozen=True)
class Set:
    """variable = a OP b; operands are variables, constants, or the thread's index."""

    target: int
    operation: str
    a: Any
    b: Any


@dataclass(frozen=True)
class If:
    """Branch on a < b, unsigned."""

    a: Any
    b: Any
    then: tuple
    otherwise: tuple


@dataclass(frozen=True)
class Loop:
    """Repeat (variable & 7) times; no barrier inside."""

    count: int
    body: tuple


@dataclass(frozen=True)
class Share:
    """Store a variable to the own cell, wait, load the cell of thread (i + shift) % n, wait."""

    target: int
    source: int
    shift: int


@dataclass(frozen=True)
class Shuffle:
    """shfl.sync.bfly with the whole warp; at the outermost level only."""

    target: int
    source: int
    distance: int


@dataclass(frozen=True)
class Leave:
    """Threads with variable < bound (unsigned, low 4 bits) end."""

    variable: int
    bound: int


OPERATIONS = {
    "add.u32": lambda a, b: a + b,
    "sub.u32": lambda a, b: a - b,
    "mul.lo.u32": lambda a, b: a * b,
    "xor.b32": lambda a, b: a ^ b,
    "min.u32": min,
}


class _Text:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.labels = 0
        self.loops = 0

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def add(self, *lines: str) -> None:
        self.lines += lines


def _operand(item: Any) -> str:
    kind, value = item
    return {"variable": f"%v{value}", "constant": str(value), "thread": "%t"}[kind]


def _write(text: _Text, program: tuple) -> None:
    for item in program:
        match item:
            case Set(target, operation, a, b):
                text.add(f"{operation} %v{target}, {_operand(a)}, {_operand(b)};")
            case If(a, b, then, otherwise):
                over, end = text.label(), text.label()
                text.add(f"setp.ge.u32 %p, {_operand(a)}, {_operand(b)};", f"@%p bra {over};")
                _write(text, then)
                text.add(f"bra {end};", f"{over}:")
                _write(text, otherwise)
                text.add(f"{end}:")
            case Loop(count, body):
                again, end = text.label(), text.label()
                text.loops += 1
                counter = f"%c{text.loops}"
                text.add(f"and.b32 {counter}, %v{count}, 7;", f"{again}:", f"setp.eq.u32 %p, {counter}, 0;")
                text.add(f"@%p bra {end};", f"sub.u32 {counter}, {counter}, 1;")
                _write(text, body)
                text.add(f"bra {again};", f"{end}:")
            case Share(target, source, shift):
                text.add("bar.sync 0;", f"st.shared.u32 [%own], %v{source};", "bar.sync 0;")
                text.add(f"add.u32 %x, %t, {shift};", "rem.u32 %x, %x, %n;", "shl.b32 %x, %x, 2;")
                text.add("mov.u32 %y, cells;", "add.u32 %x, %x, %y;", f"ld.shared.u32 %v{target}, [%x];")
            case Shuffle(target, source, distance):
                text.add(f"shfl.sync.bfly.b32 %v{target}, %v{source}, {distance}, 31, -1;")
            case Leave(variable, bound):
                text.add(f"and.b32 %x, %v{variable}, 15;", f"setp.lt.u32 %p, %x, {bound};", "@%p bra OUT;")


def ptx(program: tuple) -> str:
    text = _Text()
    _write(text, program)
    body = "\n".join(text.lines)
    return f"""
.version 8.0
.target sm_90
.address_size 64
.entry k(.param .u64 out)
{{
.reg .b32 %v<{VARIABLES}>, %c<{text.loops + 1}>, %t, %n, %x, %y, %own;
.reg .b64 %rd<4>;
.reg .pred %p;
.shared .b32 cells[1024];
mov.u32 %t, %tid.x;
mov.u32 %n, %ntid.x;
shl.b32 %own, %t, 2;
mov.u32 %x, cells;
add.u32 %own, %own, %x;
mov.u32 %v0, %t;
mov.u32 %v1, 5;
mul.lo.u32 %v2, %t, 7;
mov.u32 %v3, 0;
{body}
OUT:
ld.param.u64 %rd0, [out];
mul.wide.u32 %rd1, %t, 16;
add.u64 %rd2, %rd0, %rd1;
st.global.v4.u32 [%rd2], {{%v0, %v1, %v2, %v3}};
ret;
}}
"""


class Reference:
    """All threads of one block, interpreted one at a time."""

    def __init__(self, program: tuple, threads: int, seed: int) -> None:
        self.program = program
        self.variables = [[t, 5, t * 7 & MASK, 0] for t in range(threads)]
        self.cells = [0] * threads
        self.random = random.Random(seed)

    def run(self) -> list[list[int]]:
        running = {t: self._thread(t) for t in range(len(self.variables))}
        while running:
            waiting: dict[int, Any] = {}
            order = list(running)
            self.random.shuffle(order)
            for t in order:
                event = next(running[t], None)
                if event is None:
                    del running[t]
                else:
                    waiting[t] = event
            for t, event in waiting.items():
                if isinstance(event, Shuffle):
                    self._receive(t, event, waiting)
            for t, event in waiting.items():
                if isinstance(event, Shuffle):
                    self.variables[t][event.target] = self.received[t]
        return self.variables

    def _receive(self, t: int, event: Shuffle, waiting: dict[int, Any]) -> None:
        if not hasattr(self, "received"):
            self.received: dict[int, int] = {}
        partner = (t & ~31) | ((t & 31) ^ event.distance)
        self.received[t] = self.variables[partner][event.source] if partner in waiting else 0

    def _value(self, t: int, item: Any) -> int:
        kind, value = item
        return {"variable": lambda: self.variables[t][value], "constant": lambda: value, "thread": lambda: t}[
            kind
        ]()

    def _thread(self, t: int) -> Iterator[Any]:
        yield from self._run(t, self.program)

    def _run(self, t: int, program: tuple) -> Iterator[Any]:
        mine = self.variables[t]
        for item in program:
            match item:
                case Set(target, operation, a, b):
                    mine[target] = OPERATIONS[operation](self._value(t, a), self._value(t, b)) & MASK
                case If(a, b, then, otherwise):
                    yield from self._run(t, then if self._value(t, a) < self._value(t, b) else otherwise)
                case Loop(count, body):
                    for _ in range(mine[count] & 7):
                        yield from self._run(t, body)
                case Share(target, source, shift):
                    yield "barrier"
                    self.cells[t] = mine[source]
                    yield "barrier"
                    mine[target] = self.cells[(t + shift) % len(self.cells)]
                case Shuffle():
                    yield item
                case Leave(variable, bound):
                    if mine[variable] & 15 < bound:
                        return
        return


def ends(program: tuple) -> bool:
    return any(isinstance(item, Leave) for item in program)
