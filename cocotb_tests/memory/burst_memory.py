"""A memory behind the streams of bursts and beats of the load and store engines."""

from collections import deque
from collections.abc import Iterator
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge
from numpy.typing import NDArray

from cocotb_tests.memory.accesses import PAGE, beat_of
from cocotb_tests.packing import Packing
from cocotb_tests.streams import StreamMonitor
from hdl.config import CoreConfig
from hdl.memory.beats import read_beat_layout, space_burst_layout, write_beat_layout

__all__ = ["BurstMemory"]


class BurstMemory:
    """Answers reads or writes in order, after a while; checks that bursts and beats are well formed.

    Good beats are answered OKAY and EXOKAY in turn.

    Parameters
    ----------
    dut : handle
        With the streams ``bursts``, ``beats`` and, if it writes, ``responses``.
    config : CoreConfig
    data : ndarray of uint8
    base : int
        Address of the first byte of `data`, which repeats below and above.
    latency : int
        Cycles from a burst, or the last beat of a write, to its answer.
    pauses : dict of str to iterator of bool
        For each of the streams, whether to hold the memory's side of it back in a cycle.

    Attributes
    ----------
    faults : dict of int to int
        Address of a bad beat, and how it is answered.
    bursts : list of (int, int, int)
        Space, address and beats of each burst.
    busy_cycles : list of int
        Cycles in which a beat passed.
    cycle : int
    """

    def __init__(
        self,
        dut: Any,
        config: CoreConfig,
        data: NDArray[np.uint8],
        base: int,
        *,
        latency: int,
        pauses: dict[str, Iterator[bool]],
    ) -> None:
        self.data = data
        self.faults: dict[int, int] = {}
        self.bursts: list[tuple[int, int, int]] = []
        self.busy_cycles: list[int] = []
        self.cycle = 0
        self._dut = dut
        self._packing = Packing(space_burst_layout(config))
        self._read_beat, self._write_beat = (
            Packing(layout(config)) for layout in (read_beat_layout, write_beat_layout)
        )
        self._beat = beat_of(config)
        self._base = base
        self._latency = latency
        self._pauses = pauses
        self._writes = hasattr(dut, "responses_valid")
        self._answer = "responses" if self._writes else "beats"
        self._answers: deque[tuple[int, int]] = deque()
        self._open: deque[list[int]] = deque()  # of writes: next address, beats left, response
        StreamMonitor(dut, "bursts")
        if self._writes:
            StreamMonitor(dut, "beats")
        cocotb.start_soon(self._serve())

    @property
    def idle(self) -> bool:
        """Nothing has been asked for that is not answered."""
        return not self._answers and not self._open

    async def _serve(self) -> None:
        dut = self._dut
        edge = RisingEdge(dut.aclk)
        offered = False
        waits = {"bursts": False, "beats": True} if self._writes else {"bursts": False}
        answer = {part: getattr(dut, f"{self._answer}_{part}") for part in ("valid", "ready", "payload")}
        answer["valid"].value = 0
        while True:
            for name, waits_for_burst in waits.items():
                pauses = next(self._pauses[name]) or (waits_for_burst and not self._open)
                getattr(dut, f"{name}_ready").value = not pauses
            await edge
            self.cycle += 1
            if not dut.aresetn.value:
                self._answers.clear()
                self._open.clear()
                offered = False
                answer["valid"].value = 0
                continue
            if offered and answer["ready"].value:
                offered = False
                self._answers.popleft()
                if not self._writes:
                    self.busy_cycles.append(self.cycle)
            if self._writes and dut.beats_valid.value and dut.beats_ready.value:
                self._write(self._write_beat.unpack(int(dut.beats_payload.value)))
            if dut.bursts_valid.value and dut.bursts_ready.value:
                self._begin(self._packing.unpack(int(dut.bursts_payload.value)))
            if not offered and self._answers and self._answers[0][0] <= self.cycle:
                offered = not next(self._pauses[self._answer])
                answer["payload"].value = self._answers[0][1]
            answer["valid"].value = offered

    def _begin(self, burst: Any) -> None:
        address, beats = burst.address, burst.length + 1
        assert address % self._beat == 0, f"burst at {address:#x} begins within a beat"
        assert address // PAGE == (address + self._beat * beats - 1) // PAGE, (
            f"burst at {address:#x} leaves its page"
        )
        self.bursts.append((burst.space, address, beats))
        if self._writes:
            self._open.append([address, beats, 0])
            return
        for beat in range(beats):
            place = address + self._beat * beat
            fields = {
                "data": int.from_bytes(self._bytes(place).tobytes(), "little"),
                "response": self.faults.get(place, beat & 1),
                "last": beat == beats - 1,
            }
            self._answers.append((self.cycle + self._latency, self._read_beat.pack(fields)))

    def _bytes(self, address: int) -> NDArray[np.uint8]:
        return self.data[(address - self._base) % len(self.data) :][: self._beat]

    def _write(self, beat: Any) -> None:
        address, left, response = self._open[0]
        self.busy_cycles.append(self.cycle)
        fault = self.faults.get(address, 0)
        if not fault:
            new = np.frombuffer(beat.data.to_bytes(self._beat, "little"), np.uint8)
            mask = np.array([beat.strb >> byte & 1 for byte in range(self._beat)], dtype=bool)
            self._bytes(address)[mask] = new[mask]
        self._open[0] = [address + self._beat, left - 1, response or fault]
        if left == 1:
            good = len(self._answers) & 1
            self._answers.append((self.cycle + self._latency, response or fault or good))
            self._open.popleft()
