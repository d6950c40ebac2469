"""Pipelines that never stop: registers, stages with one struct in and one out, and stages in order."""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out

from hdl.component import Component

_WORD = 64
"""Bits of an array that are delayed in one register: what simulates fastest."""


def register(m: Module, value: ValueLike, name: str, *, reset_less: bool = True) -> Value:
    """One pipeline register, of data without reset.

    Whether its content means anything is told by a bit that travels beside the data, so a reset here
    would only cost routing.

    Parameters
    ----------
    m : Module
        Where the register lives; its ``sync`` domain clocks it.
    value : value-like
        What it holds one cycle later.
    name : str
        Name of the register in waveforms and netlists.
    reset_less : bool
        False for such a bit.

    Returns
    -------
    Value
        `value`, one cycle late. A constant is returned as it is, unless it is reset.
    """
    if isinstance(value, Const) and reset_less:
        return value
    held = Signal.like(value, name=name, reset_less=reset_less, src_loc_at=1)
    m.d.sync += held.eq(value)
    return held


def delay(m: Module, value: ValueLike, cycles: int, name: str, *, reset_less: bool = True) -> ValueLike:
    """`value` as it was `cycles` cycles ago; `cycles` may be 0.

    Parameters
    ----------
    m : Module
    value : value-like
    cycles : int
    name : str
        Stem of the registers' names; the cycle number is appended.
    reset_less : bool
        As for `register`.
    """
    for cycle in range(cycles):
        value = register(m, value, f"{name}_{cycle + 1}", reset_less=reset_less)
    return value


class Cut:
    """A place in a stage where registers may stand: in all values that pass it, or in none.

    Parameters
    ----------
    m : Module
        Of the stage.
    held : bool
        Whether there are registers.
    """

    def __init__(self, m: Module, held: bool) -> None:
        self._m, self._held = m, held

    def __call__(self, value: ValueLike, name: str, *, init: int = 0) -> Any:
        """`value` behind the cut: a register or a wire called `name`; a constant stays one.

        A value that is replaced by a constant in some cases is a register with a synchronous reset or set
        only if `init`, with which it begins, is the same constant.
        """
        if isinstance(value, Const):
            return value
        behind = Signal.like(value, name=name, init=init, reset_less=True, src_loc_at=1)
        self._m.d["sync" if self._held else "comb"] += behind.eq(value)
        return behind


def behind(cuts: Sequence[Cut], value: ValueLike, name: str) -> Any:
    """`value` behind several cuts, one after the other; the number of the cut is appended to the name."""
    for number, cut in enumerate(cuts):
        value = cut(value, f"{name}_{number + 1}")
    return value


def balanced(delays: Sequence[float], registers: int) -> tuple[bool, ...]:
    """Choose the cuts that hold registers.

    The longest sum of delays between two registers is as short as it can be; of the choices for which it is,
    the one with the least sum of squares. What lies before the pipeline and behind it counts as a register.

    Parameters
    ----------
    delays : sequence of float
        Of the logic before each cut.
    registers : int

    Returns
    -------
    tuple of bool
        For each cut whether it was chosen.

    Raises
    ------
    ValueError
        For more registers than cuts, or fewer than none.
    """
    if not 0 <= registers <= len(delays):
        raise ValueError(f"Registers must be from 0 to {len(delays)}, one for each cut, not {registers}")

    @cache
    def best(end: int, count: int) -> tuple[float, float, tuple[int, ...]]:
        """The longest sum, the sum of squares and the chosen cuts, of the delays before `end`."""
        if not count:
            return sum(delays[:end]), sum(delays[:end]) ** 2, ()
        choices = ((sum(delays[cut:end]), cut, *best(cut, count - 1)) for cut in range(count, end))
        return min(
            (max(longest, last), squares + last**2, (*cuts, cut))
            for last, cut, longest, squares, cuts in choices
        )

    chosen = best(len(delays) + 1, registers)[2]
    return tuple(cut in chosen for cut in range(1, len(delays) + 1))


def stage_signature(consumes: Mapping[str, Member], produces: Mapping[str, Member]) -> wiring.Signature:
    """The ports of a stage; for parameters and members see `Stage`."""
    return wiring.Signature(
        {
            "input": In(wiring.Signature(dict(consumes))),
            "output": Out(wiring.Signature(dict(produces))),
        }
    )


class Stage(Component):
    """A part of a pipeline: takes one struct per cycle and produces one, `latency` cycles later.

    `_logic` gets the cuts, the last one at its end. In a pipeline those hold registers that the pipeline
    chooses; alone, all do.

    Parameters
    ----------
    consumes, produces : mapping of str to Member
        Fields by name: ``Out(shape)``, or ``Out(shape).array(count)``.

    Attributes
    ----------
    delays : sequence of float
        Of the logic before each cut, wires included, in nanoseconds of an ECP5 of speed grade 8.
    held : tuple of bool
        For each cut whether it holds registers.

    Members
    -------
    input : In(Signature(consumes))
    output : Out(Signature(produces))
    """

    delays: Sequence[float]

    def __init__(self, consumes: Mapping[str, Member], produces: Mapping[str, Member]) -> None:
        super().__init__(stage_signature(consumes, produces), src_loc_at=1)
        self.hold((True,) * len(self.delays))

    @property
    def latency(self) -> int:
        """Cycles from input to output."""
        return sum(self.held)

    def hold(self, held: Sequence[bool]) -> None:
        """Choose the cuts that hold registers."""
        self.held = tuple(held)

    def elaborate(self, platform: object) -> Module:
        """Return the stage's module."""
        m = Module()
        self._logic(m, *(Cut(m, held) for held in self.held))
        return m

    @property
    def consumes(self) -> tuple[str, ...]:
        """Names of the fields of `input`."""
        return tuple(self.signature.members["input"].signature.members)

    @property
    def produces(self) -> tuple[str, ...]:
        """Names of the fields of `output`."""
        return tuple(self.signature.members["output"].signature.members)


class Pipeline(Stage):
    """Stages in order, wired by the names of their fields.

    A field lives from the stage that produces it to the last one that consumes it. What no stage consumes is
    neither wired nor delayed. A stage starts at the first cut behind which all its fields are there, so
    stages that do not depend on one another overlap. Stages in a tuple start together.

    Stages that overlap share the cuts of the pipeline; the delay of a cut is the longest of its stages.
    `balanced` chooses the cuts that hold registers, and a field has a register at each of them.

    Throughput: one struct per cycle.
    Testbench: cocotb_tests/stream/test_pipeline.py.

    Parameters
    ----------
    consumes, produces : mapping of str to Member
        As for `Stage`: the fields of the pipeline's own input and output.
    stages : sequence of Stage or of tuple of Stage
    registers : int or None
        How many cuts hold registers; all of them for None.

    Attributes
    ----------
    schedule : tuple of (Stage, int)
        The stages, each with the number of cuts before its input.

    Raises
    ------
    ValueError
        For a field that two stages produce, or that is consumed before it is produced, and for more registers
        than cuts.
    """

    def __init__(
        self,
        consumes: Mapping[str, Member],
        produces: Mapping[str, Member],
        stages: Sequence[Stage | tuple[Stage, ...]],
        registers: int | None = None,
    ) -> None:
        since = dict.fromkeys(consumes, 0)
        starts: list[tuple[Stage, int]] = []
        for step in stages:
            together = step if isinstance(step, tuple) else (step,)
            start = _latest(since, *(stage.consumes for stage in together))
            for stage in together:
                starts.append((stage, start))
                for name in stage.produces:
                    if name in since:
                        raise ValueError(
                            f"Field {name} must be produced once, but {stage_name(stage)} does again"
                        )
                    since[name] = start + len(stage.delays)
        self.schedule = tuple(starts)
        delays = [0.0] * _latest(since, tuple(produces))
        for stage, start in starts:
            for cut, time in enumerate(stage.delays, start):
                delays[cut] = max(delays[cut], time)
        self.delays = delays
        super().__init__(consumes, produces)
        if registers is not None:
            self.hold(balanced(delays, registers))

    def hold(self, held: Sequence[bool]) -> None:
        """Choose the cuts that hold registers, in the stages too."""
        super().hold(held)
        for stage, start in self.schedule:
            stage.hold(self.held[start : start + len(stage.delays)])

    def cycle(self, cut: int) -> int:
        """The cycle in which fields are that have passed so many cuts; of the pipeline's input it is 0."""
        return sum(self.held[:cut])

    def _logic(self, m: Module, *_: Cut) -> None:
        lines = {name: _Line(m, name, getattr(self.input, name), 0, self.held) for name in self.consumes}
        for stage, start in self.schedule:
            m.submodules[stage_name(stage)] = stage
            for name in stage.consumes:
                lines[name].drive(getattr(stage.input, name), start)
            for name in stage.produces:
                end = start + len(stage.delays)
                lines[name] = _Line(m, name, getattr(stage.output, name), end, self.held)
        for name in self.produces:
            lines[name].drive(getattr(self.output, name), len(self.held))


class _Line:
    """A field, and its registers: one for each cut that holds some, up to the last before it is consumed."""

    def __init__(self, m: Module, name: str, field: Any, since: int, held: Sequence[bool]) -> None:
        self._m, self._name, self._since, self._held = m, name, since, held
        self._now = _elements(field)
        self._length = length = max(1, _WORD // len(self._now[0]))
        starts = range(0, len(self._now), length)
        self._words = [[Cat(self._now[first : first + length]) for first in starts]]

    def drive(self, field: Any, end: int) -> None:
        """Assign the line, as it is behind so many cuts of the pipeline, to a field of a stage."""
        passed = [cut for cut in range(self._since, end) if self._held[cut]]
        for cut in passed[len(self._words) - 1 :]:
            word_names = [f"{self._name}{index}" for index in range(len(self._words[0]))]
            names = word_names if len(word_names) > 1 else [self._name]
            late = [
                register(self._m, word, f"{name}_{cut + 1}")
                for name, word in zip(names, self._words[-1], strict=True)
            ]
            self._words.append(late)
        targets = _elements(field)
        sources = self._now
        if passed:
            width = len(targets[0])
            sources = [
                self._words[len(passed)][index // self._length].word_select(index % self._length, width)
                for index in range(len(targets))
            ]
        self._m.d.comb += [target.eq(source) for target, source in zip(targets, sources, strict=True)]


def _elements(field: Any) -> list[Value]:
    """The elements of an array of ports, or the only port."""
    ports = field if isinstance(field, (list, tuple)) else [field]
    return [Value.cast(port) for port in ports]


def _latest(since: Mapping[str, int], *names: Sequence[str]) -> int:
    for name in chain(*names):
        if name not in since:
            raise ValueError(
                f"Field {name} must be produced before it is consumed; there are {', '.join(since)}"
            )
    return max(since[name] for name in chain(*names))


def stage_name(stage: Stage) -> str:
    """The name of a stage's submodule: its class's name in lower case, with underscores."""
    name = type(stage).__name__
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
