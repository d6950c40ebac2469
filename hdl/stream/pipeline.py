"""Pipelines that never stop: registers, stages with one struct in and one out, and stages in order."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out

__all__ = ["Pipeline", "Stage", "delay", "register", "stage_name", "stage_signature"]

_WORD = 64
"""Bits of an array that are delayed in one register: what simulates fastest."""


def register(
    m: Module, value: ValueLike, name: str, *, reset_less: bool = True, src_loc_at: int = 0
) -> Value:
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
    src_loc_at : int
        How many calls further up the line stands that the register belongs to.

    Returns
    -------
    Value
        `value`, one cycle late. A constant is returned as it is, unless it is reset.
    """
    if isinstance(value, Const) and reset_less:
        return value
    held = Signal.like(value, name=name, reset_less=reset_less, src_loc_at=1 + src_loc_at)
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

    Returns
    -------
    value-like
    """
    for cycle in range(cycles):
        value = register(m, value, f"{name}_{cycle + 1}", reset_less=reset_less, src_loc_at=1)
    return value


def stage_signature(consumes: Mapping[str, Member], produces: Mapping[str, Member]) -> wiring.Signature:
    """The ports of a stage; for parameters and members see `Stage`."""
    return wiring.Signature(
        {
            "input": In(wiring.Signature(dict(consumes))),
            "output": Out(wiring.Signature(dict(produces))),
        }
    )


class Stage(wiring.Component):
    """A part of a pipeline: takes one struct per cycle and produces one, `latency` cycles later.

    Parameters
    ----------
    consumes, produces : mapping of str to Member
        Fields by name: ``Out(shape)``, or ``Out(shape).array(count)``.

    Attributes
    ----------
    latency : int

    Members
    -------
    input : In(Signature(consumes))
    output : Out(Signature(produces))
    """

    latency: int

    def __init__(self, consumes: Mapping[str, Member], produces: Mapping[str, Member]) -> None:
        super().__init__(stage_signature(consumes, produces), src_loc_at=1)

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

    A field lives from the stage that produces it to the last one that consumes it; the stages in between
    delay it. What no stage consumes is neither wired nor delayed. A stage starts in the first cycle in which
    all its fields are there, so stages that do not depend on one another overlap. Stages in a tuple start
    together.

    Latency: `latency` cycles, which a subclass declares. Throughput: one struct per cycle.

    Parameters
    ----------
    consumes, produces : mapping of str to Member
        As for `Stage`: the fields of the pipeline's own input and output.
    stages : sequence of Stage or of tuple of Stage

    Attributes
    ----------
    schedule : tuple of (Stage, int)
        The stages, each with the cycle in which it starts; that of the input is 0.

    Raises
    ------
    ValueError
        For a field that two stages produce, or that is consumed before it is produced, and for a declared
        latency other than that of the longest path.

    Testbench
    ---------
    cocotb_tests/stream/test_pipeline.py.
    """

    def __init__(
        self,
        consumes: Mapping[str, Member],
        produces: Mapping[str, Member],
        stages: Sequence[Stage | tuple[Stage, ...]],
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
                    since[name] = start + stage.latency
        latency = _latest(since, tuple(produces))
        if self.latency != latency:
            raise ValueError(f"Latency must be the {latency} cycles of the longest path, not {self.latency}")
        self.schedule = tuple(starts)
        super().__init__(consumes, produces)

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        lines = {name: _Line(m, name, getattr(self.input, name), 0) for name in self.consumes}
        for stage, start in self.schedule:
            m.submodules[stage_name(stage)] = stage
            for name in stage.consumes:
                lines[name].drive(getattr(stage.input, name), start)
            for name in stage.produces:
                lines[name] = _Line(m, name, getattr(stage.output, name), start + stage.latency)
        for name in self.produces:
            lines[name].drive(getattr(self.output, name), self.latency)
        return m


class _Line:
    """A field, and its registers: one for each cycle up to the last in which it is consumed."""

    def __init__(self, m: Module, name: str, field: Any, since: int) -> None:
        self._m, self._name, self._since = m, name, since
        elements = _elements(field)
        self._length = max(1, _WORD // len(elements[0]))
        self._now = elements
        self._words = [
            [Cat(elements[first : first + self._length]) for first in range(0, len(elements), self._length)]
        ]

    def drive(self, field: Any, cycle: int) -> None:
        """Assign the line, as it is in a cycle of the pipeline, to a field of a stage."""
        while len(self._words) <= cycle - self._since:
            at = self._since + len(self._words)
            word_names = [f"{self._name}{index}" for index in range(len(self._words[0]))]
            names = word_names if len(word_names) > 1 else [self._name]
            late = [
                register(self._m, word, f"{name}_{at}")
                for name, word in zip(names, self._words[-1], strict=True)
            ]
            self._words.append(late)
        targets = _elements(field)
        sources = self._now
        if cycle > self._since:
            width = len(targets[0])
            sources = [
                self._words[cycle - self._since][index // self._length].word_select(
                    index % self._length, width
                )
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
