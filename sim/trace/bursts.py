"""The bursts of the AXI4 memory port, from a recording."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hdl.control.scoreboard import Unit
from hdl.memory.axi import Response
from sim.trace.lifetimes import Lifetime
from sim.trace.recording import Recording

__all__ = ["Burst", "bursts"]


@dataclass(frozen=True, kw_only=True)
class Burst:
    """One burst.

    Parameters
    ----------
    kind : {"read", "write"}
    address : int
        Of the first byte.
    beats : int
    asked : int
        Cycle in which the address was taken.
    first_beat, last_beat : int or None
        Cycles of the first and the last beat of data; None where the recording ends before.
    answered : int or None
        Cycle of the response: of a read, that of the last beat.
    response : str or None
        Name of the AXI response that came last.
    command : Lifetime or None
        The oldest load or store under way whose bytes contain the address.
    """

    kind: Literal["read", "write"]
    address: int
    beats: int
    asked: int
    first_beat: int | None
    last_beat: int | None
    answered: int | None
    response: str | None
    command: Lifetime | None


def bursts(recording: Recording, commands: Sequence[Lifetime]) -> list[Burst]:
    """All bursts in the order in which they were asked for.

    Data and responses come in the order of the bursts, as on a bus without ids.
    """
    reads = recording.pulses("m_axi_rvalid", "m_axi_rready")
    writes = recording.pulses("m_axi_wvalid", "m_axi_wready")
    responses = recording.pulses("m_axi_bvalid", "m_axi_bready")
    found = []
    position = 0
    for asked, address, beats in _addresses(recording, "ar"):
        data = reads[position : position + beats]
        position += beats
        end = data[-1] if len(data) == beats else None
        found.append(
            Burst(
                kind="read",
                address=address,
                beats=beats,
                asked=asked,
                first_beat=data[0] if data else None,
                last_beat=end,
                answered=end,
                response=_response(recording, "m_axi_rresp", end),
                command=_command(commands, Unit.LOAD, address, asked),
            )
        )
    position = 0
    for number, (asked, address, beats) in enumerate(_addresses(recording, "aw")):
        data = writes[position : position + beats]
        position += beats
        answered = responses[number] if number < len(responses) else None
        found.append(
            Burst(
                kind="write",
                address=address,
                beats=beats,
                asked=asked,
                first_beat=data[0] if data else None,
                last_beat=data[-1] if len(data) == beats else None,
                answered=answered,
                response=_response(recording, "m_axi_bresp", answered),
                command=_command(commands, Unit.STORE, address, asked),
            )
        )
    return sorted(found, key=lambda burst: burst.asked)


def _addresses(recording: Recording, channel: str) -> list[tuple[int, int, int]]:
    """Cycle, address and beats of each burst of a channel."""
    return [
        (
            cycle,
            recording.value(f"m_axi_{channel}addr", cycle),
            recording.value(f"m_axi_{channel}len", cycle) + 1,
        )
        for cycle in recording.pulses(f"m_axi_{channel}valid", f"m_axi_{channel}ready")
    ]


def _response(recording: Recording, name: str, cycle: int | None) -> str | None:
    return None if cycle is None else Response(recording.value(name, cycle)).name


def _command(commands: Sequence[Lifetime], unit: Unit, address: int, cycle: int) -> Lifetime | None:
    end = bisect_left(commands, cycle, key=lambda command: command.accepted)
    return next(
        (
            command
            for command in commands[max(0, end - 16) : end]
            if command.unit is unit
            and command.is_under_way(cycle)
            and command.span is not None
            and command.span[0] & ~15 <= address <= command.span[1]
        ),
        None,
    )
