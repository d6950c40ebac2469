"""The bursts of the AXI4 memory port, from a recording."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from hdl.control.scoreboard import Unit
from hdl.memory.axi import Response
from sim.trace.lifetimes import Lifetime
from sim.trace.recording import Recording


@dataclass(frozen=True, kw_only=True)
class Burst:
    """One burst."""

    kind: Literal["read", "write"]
    address: int
    """Of the first byte."""
    beats: int
    asked: int
    """Cycle in which the address was taken."""
    first_beat: int | None
    last_beat: int | None
    """Cycles of the first and the last beat of data; None where the recording ends before."""
    answered: int | None
    """Cycle of the response: of a read, when the last beat came."""
    response: str | None
    """Name of the AXI response that came last."""
    command: Lifetime | None
    """The oldest load or store in flight whose bytes contain the address."""


def bursts(recording: Recording, commands: Sequence[Lifetime]) -> list[Burst]:
    """All bursts in the order in which they were asked for.

    Data and responses come in the order of the bursts, as on a bus without ids.
    """
    found = [*_bursts(recording, commands, "read"), *_bursts(recording, commands, "write")]
    return sorted(found, key=lambda burst: burst.asked)


def _bursts(
    recording: Recording, commands: Sequence[Lifetime], kind: Literal["read", "write"]
) -> Iterator[Burst]:
    is_read = kind == "read"
    asking, carrying, answering = ("ar", "r", "r") if is_read else ("aw", "w", "b")
    data = iter(_handshakes(recording, carrying))
    answers = iter(_handshakes(recording, answering))
    for asked in _handshakes(recording, asking):
        address = recording.value(f"m_axi_{asking}addr", asked)
        beats = recording.value(f"m_axi_{asking}len", asked) + 1
        cycles = list(islice(data, beats))
        last = cycles[-1] if len(cycles) == beats else None
        answered = last if is_read else next(answers, None)
        yield Burst(
            kind=kind,
            address=address,
            beats=beats,
            asked=asked,
            first_beat=cycles[0] if cycles else None,
            last_beat=last,
            answered=answered,
            response=_response(recording, f"m_axi_{answering}resp", answered),
            command=_command(commands, Unit.LOAD if is_read else Unit.STORE, address, asked),
        )


def _handshakes(recording: Recording, channel: str) -> list[int]:
    return recording.pulses(f"m_axi_{channel}valid", f"m_axi_{channel}ready")


def _response(recording: Recording, name: str, cycle: int | None) -> str | None:
    return None if cycle is None else Response(recording.value(name, cycle)).name


def _command(commands: Sequence[Lifetime], unit: Unit, address: int, cycle: int) -> Lifetime | None:
    end = bisect_left(commands, cycle, key=lambda command: command.accepted)
    return next(
        (
            command
            for command in commands[max(0, end - 16) : end]
            if command.unit is unit
            and command.is_in_flight(cycle)
            and command.span is not None
            and command.span[0] & ~15 <= address <= command.span[1]
        ),
        None,
    )
