"""Tracks of slices and counters in the Trace Event Format, which Perfetto and Chrome read.

The format is defined by the Trace Event Format document of the Catapult project: complete events (X) on named
threads of named processes, counters (C), and flows (s, f) from slice to slice.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

_Event = dict[str, Any]

SCHEMA: Final = "1 us in the viewer is 1 cycle of the clock aclk"


@dataclass(frozen=True, kw_only=True)
class Slice:
    """Something that took cycles `first` to `last`, both included."""

    name: str
    first: int
    last: int
    args: Mapping[str, Any]
    """What the viewer shows of a selected slice; values of None are left out."""


class TraceEvents:
    """Collects events; one process of the format is one unit, one of its threads a row of slices."""

    def __init__(self) -> None:
        self._events: list[_Event] = []
        self._processes: dict[str, int] = {}
        self._threads: dict[tuple[int, str], int] = {}
        self._flows = 0

    def slices(self, process: str, thread: str, slices: Iterable[Slice]) -> None:
        """Add slices that do not overlap to a row."""
        where = self._where(process, thread)
        for item in slices:
            self._add(item, where)

    def lanes(self, process: str, thread: str, slices: Iterable[Slice]) -> list[tuple[Slice, str]]:
        """Add slices that may overlap to as many rows as they need; returns the row of each."""
        ends: list[int] = []
        placed = []
        for item in sorted(slices, key=lambda item: (item.first, item.last)):
            lane = next((lane for lane, end in enumerate(ends) if end < item.first), len(ends))
            ends[lane : lane + 1] = [item.last]
            row = f"{thread} {lane}"
            self._add(item, self._where(process, row))
            placed.append((item, row))
        return placed

    def counter(self, process: str, name: str, values: Iterable[tuple[int, int]]) -> None:
        """Add a counter: pairs of the cycle and the value from there on."""
        pid = self._process(process)
        for cycle, value in values:
            self._events.append(
                {"ph": "C", "pid": pid, "tid": 0, "ts": cycle, "name": name, "args": {"value": value}}
            )

    def flow(self, name: str, start: tuple[str, str, int], end: tuple[str, str, int]) -> None:
        """Add an arrow from a slice to a slice, each given by process, thread and a cycle in it."""
        self._flows += 1
        for phase, (process, thread, cycle) in (("s", start), ("f", end)):
            event = {"ph": phase, "id": self._flows, "cat": name, "name": name, "ts": cycle}
            self._events.append(event | self._where(process, thread) | ({"bp": "e"} if phase == "f" else {}))

    def json(self, about: Mapping[str, Any]) -> str:
        """The text of the file, an event a line, given what to say about the trace as a whole."""
        events = [*self._names(), *sorted(self._events, key=lambda event: event["ts"])]
        lines = ",\n".join(json.dumps(event, separators=(",", ":")) for event in events)
        other = json.dumps({"time": SCHEMA, **about})
        return f'{{"displayTimeUnit":"ms","otherData":{other},"traceEvents":[\n{lines}\n]}}\n'

    def _add(self, item: Slice, where: Mapping[str, int]) -> None:
        args = {name: value for name, value in item.args.items() if value is not None}
        event: _Event = {"ph": "X", "name": item.name, "cat": "core", **where}
        self._events.append(event | {"ts": item.first, "dur": item.last - item.first + 1, "args": args})

    def _where(self, process: str, thread: str) -> dict[str, int]:
        pid = self._process(process)
        return {"pid": pid, "tid": self._threads.setdefault((pid, thread), len(self._threads) + 1)}

    def _process(self, name: str) -> int:
        return self._processes.setdefault(name, len(self._processes) + 1)

    def _names(self) -> Iterator[_Event]:
        """Names and order of processes and threads, in the order in which they were first used."""
        for process, pid in self._processes.items():
            yield _metadata("process_name", pid, 0, name=process)
            yield _metadata("process_sort_index", pid, 0, sort_index=pid)
        for (pid, thread), tid in self._threads.items():
            yield _metadata("thread_name", pid, tid, name=thread)
            yield _metadata("thread_sort_index", pid, tid, sort_index=tid)


def _metadata(kind: str, pid: int, tid: int, **args: Any) -> _Event:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "ts": 0, "args": args}
