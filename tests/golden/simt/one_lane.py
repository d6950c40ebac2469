"""A slow reference of collectives: each lane runs alone in random order, one collective at a time.

A program is a tree of statements for the threads of a block. `Split` parts the lanes that run it by two bits
of a variable, and runs its body with the mask of those with the same bits. So the groups of a warp take
different ways, with loops of different lengths, and meet again behind it. `ptx` writes a program as a kernel.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

VARIABLES = 3
FULL = 0xFFFFFFFF


@dataclass(frozen=True)
class Change:
    """variable = variable * 5 + constant; each lane for itself."""

    target: int
    constant: int


@dataclass(frozen=True)
class Exchange:
    """target = a collective of the source under the present mask."""

    name: str
    target: int
    source: int


@dataclass(frozen=True)
class Sides:
    """The same, reached from two branches by a bit of a variable; one side changes the result."""

    bit: int
    exchange: Exchange


@dataclass(frozen=True)
class Split:
    """Part the lanes by two bits of a variable; the body runs as often as these bits say, once at least."""

    variable: int
    body: tuple[Any, ...]


@dataclass(frozen=True)
class Leave:
    """Lanes end whose variable is a multiple of seven."""

    variable: int


def signed(value: int) -> int:
    return value - (value >> 31 << 32)


def ballot(mine: int, lanes: dict[int, int], chosen: Any) -> int:
    return sum(1 << lane for lane, value in lanes.items() if chosen(value))


def shuffled(source: Any) -> Any:
    """A shuffle whose result is 0 where the source is not in the mask."""
    return lambda lane, mine, lanes: lanes.get(source(lane, mine), 0)


REDUCTIONS = {
    "add.u32": lambda a, b: a + b & FULL,
    "min.u32": min,
    "max.s32": lambda a, b: max(a, b, key=signed),
    "and.b32": lambda a, b: a & b,
    "or.b32": lambda a, b: a | b,
    "xor.b32": lambda a, b: a ^ b,
}
ODD = "and.b32 %x, {s}, 1; setp.ne.u32 %p, %x, 0;"
KEPT = "shr.u32 %x, {m}, %y; and.b32 %x, %x, 1; setp.eq.u32 %p, %x, 0; @%p mov.u32 {d}, 0;"
"""A result of lane %y is zero if that lane is not in the mask."""
EXCHANGES = {
    **{
        name: (
            f"redux.sync.{name} {{d}}, {{s}}, {{m}};",
            lambda lane, mine, lanes, function=function: reduce(function, lanes.values()),
        )
        for name, function in REDUCTIONS.items()
    },
    "ballot": (
        ODD + "vote.sync.ballot.b32 {d}, %p, {m};",
        lambda lane, mine, lanes: ballot(mine, lanes, lambda value: value & 1),
    ),
    "all": (
        ODD + "vote.sync.all.pred %q, %p, {m}; selp.u32 {d}, 3, 0, %q;",
        lambda lane, mine, lanes: 3 * all(value & 1 for value in lanes.values()),
    ),
    "any": (
        ODD + "vote.sync.any.pred %q, %p, {m}; selp.u32 {d}, 3, 0, %q;",
        lambda lane, mine, lanes: 3 * any(value & 1 for value in lanes.values()),
    ),
    "uni": (
        ODD + "vote.sync.uni.pred %q, %p, {m}; selp.u32 {d}, 3, 0, %q;",
        lambda lane, mine, lanes: 3 * (len({value & 1 for value in lanes.values()}) == 1),
    ),
    "match any": (
        "and.b32 %x, {s}, 3; match.any.sync.b32 {d}, %x, {m};",
        lambda lane, mine, lanes: ballot(mine, lanes, lambda value: value & 3 == mine & 3),
    ),
    "match all": (
        "and.b32 %x, {s}, 1; match.all.sync.b32 {d}|%q, %x, {m}; @!%q mov.u32 {d}, 5;",
        lambda lane, mine, lanes: (
            ballot(mine, lanes, lambda value: True)
            if len({value & 1 for value in lanes.values()}) == 1
            else 5
        ),
    ),
    "elect": (
        "mov.u32 %x, {s}; elect.sync {d}|%q, {m}; @%q add.u32 {d}, %x, 1;",
        lambda lane, mine, lanes: (mine + 1 if lane == min(lanes) else min(lanes)) & FULL,
    ),
    "idx": (
        "and.b32 %y, {s}, 31; shfl.sync.idx.b32 {d}, {s}, %y, 31, {m};" + KEPT,
        shuffled(lambda lane, mine: mine & 31),
    ),
    "bfly": (
        "xor.b32 %y, %l, 5; shfl.sync.bfly.b32 {d}, {s}, 5, 31, {m};" + KEPT,
        shuffled(lambda lane, mine: lane ^ 5),
    ),
    "barrier": ("bar.warp.sync {m}; mov.u32 {d}, {s};", lambda lane, mine, lanes: mine),
}
"""Text and meaning of each collective.

The text has destination, source and mask; the meaning takes the lane, its value, and the values of all lanes.
"""


class _Text:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.labels = 0

    def write(self, program: tuple[Any, ...], level: int) -> None:
        for item in program:
            match item:
                case Change(target, constant):
                    self.lines.append(f"mad.lo.u32 %v{target}, %v{target}, 5, {constant};")
                case Exchange():
                    self.exchange(item, level)
                case Sides(bit, exchange):
                    self.labels += 1
                    over, end = f"OVER{self.labels}", f"END{self.labels}"
                    self.lines.append(f"and.b32 %x, %v0, {1 << bit}; setp.eq.u32 %p, %x, 0; @%p bra {over};")
                    self.exchange(exchange, level)
                    self.lines.append(
                        f"add.u32 %v{exchange.target}, %v{exchange.target}, 9; bra {end}; {over}:"
                    )
                    self.exchange(exchange, level)
                    self.lines.append(f"{end}:")
                case Split(variable, body):
                    self.labels += 1
                    again, inner = f"AGAIN{self.labels}", level + 1
                    self.lines.append(
                        f"and.b32 %c{inner}, %v{variable}, 3; "
                        f"match.any.sync.b32 %m{inner}, %c{inner}, %m{level};"
                    )
                    self.lines.append(f"{again}:")
                    self.write(body, inner)
                    self.lines.append(f"setp.gt.s32 %p, %c{inner}, 1; sub.u32 %c{inner}, %c{inner}, 1;")
                    self.lines.append(f"@%p bra {again};")
                case Leave(variable):
                    self.lines.append(f"rem.u32 %x, %v{variable}, 7; setp.eq.u32 %p, %x, 0; @%p bra OUT;")

    def exchange(self, item: Exchange, level: int) -> None:
        text, _ = EXCHANGES[item.name]
        self.lines.append(text.format(d="%d", s=f"%v{item.source}", m=f"%m{level}"))
        self.lines.append(f"mov.u32 %v{item.target}, %d;")


def ptx(program: tuple[Any, ...]) -> str:
    text = _Text()
    text.write(program, 0)
    lines = "\n".join(text.lines)
    return f"""
.version 8.0
.target sm_90
.address_size 64
.entry k(.param .u64 out)
{{
.reg .b32 %v<{VARIABLES}>, %m<9>, %c<9>, %x, %y, %l, %d, %t;
.reg .b64 %rd<4>;
.reg .pred %p, %q;
mov.u32 %t, %tid.x; and.b32 %l, %t, 31; mov.u32 %m0, 0xffffffff;
mov.u32 %v0, %t; mad.lo.u32 %v1, %t, %t, 7; mul.lo.u32 %v2, %t, 0x9e3779b1;
{lines}
OUT:
ld.param.u64 %rd0, [out]; mul.wide.u32 %rd1, %t, {4 * VARIABLES}; add.u64 %rd2, %rd0, %rd1;
st.global.u32 [%rd2], %v0; st.global.u32 [%rd2+4], %v1; st.global.u32 [%rd2+8], %v2;
ret;
}}
"""


class Reference:
    """The threads of one block."""

    def __init__(self, program: tuple[Any, ...], threads: int, seed: int) -> None:
        self.program = program
        self.variables = [[t, t * t + 7, t * 0x9E3779B1 & FULL] for t in range(threads)]
        self.random = random.Random(seed)

    def run(self) -> list[list[int]]:
        lanes = {t: self._lane(t) for t in range(len(self.variables))}
        waiting: dict[int, tuple[str, int, int]] = {}
        received: dict[int, int | None] = dict.fromkeys(lanes)
        while received or waiting:
            for t in self.random.sample(sorted(received), len(received)):
                try:
                    waiting[t] = lanes[t].send(received[t])
                except StopIteration:
                    del lanes[t]
            received = self._one_collective(lanes, waiting)
            for t in received:
                del waiting[t]
        return self.variables

    def _one_collective(self, lanes: Any, waiting: dict[int, tuple[str, int, int]]) -> dict[int, int | None]:
        """Execute one collective whose lanes all wait for it; what each of them receives."""
        for t in self.random.sample(sorted(waiting), len(waiting)):
            name, mask, _ = waiting[t]
            first = t & ~31
            group = [first + lane for lane in range(32) if mask >> lane & 1 and first + lane in lanes]
            if all(other in waiting and waiting[other][:2] == (name, mask) for other in group):
                values = {other & 31: waiting[other][2] for other in group}
                meaning = EXCHANGES[name][1]
                return {other: meaning(other & 31, values[other & 31], values) for other in group}
        assert not waiting, "the reference waits for ever"
        return {}

    def _lane(self, t: int) -> Iterator[Any]:
        yield from self._run(t, self.program, FULL)

    def _run(self, t: int, program: tuple[Any, ...], mask: int) -> Iterator[Any]:
        """Statements of a lane; whether it has ended."""
        mine = self.variables[t]
        for item in program:
            match item:
                case Change(target, constant):
                    mine[target] = mine[target] * 5 + constant & FULL
                case Exchange(name, target, source):
                    mine[target] = yield name, mask, mine[source]
                case Sides(bit, Exchange(name, target, source)):
                    more = 9 * (mine[0] >> bit & 1)
                    mine[target] = (yield name, mask, mine[source]) + more & FULL
                case Split(variable, body):
                    count = mine[variable] & 3
                    inner = yield "match any", mask, count
                    for _ in range(max(1, count)):
                        if (yield from self._run(t, body, inner)):
                            return True
                case Leave(variable):
                    if mine[variable] % 7 == 0:
                        return True
        return False
