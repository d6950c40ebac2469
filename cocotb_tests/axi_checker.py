"""What AXI4 asks of a master, checked in every cycle."""

from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

__all__ = ["AxiChecker"]

_CONSTANTS = {"id": 0, "burst": 1, "lock": 0, "cache": 0b0011, "prot": 0, "qos": 0, "region": 0}
_PAGE = 4096
_CHANNELS = {
    "ar": ("addr", "len", "size", *_CONSTANTS),
    "aw": ("addr", "len", "size", *_CONSTANTS),
    "w": ("data", "strb", "last"),
}


class AxiChecker:
    """Watches an AXI4 master port and fails the test at the first breach.

    Payloads stay while valid waits for ready, and valid stays with them; bursts are INCR of aligned beats of
    `beat` bytes, or of the whole bus where that is less, within one 4 KiB page; strobes are on the byte lanes
    of their beat; no beat comes before its burst is offered; WLAST marks the last beat of each burst and no
    other; answers are owed by a burst; no more reads are in flight than allowed; in reset nothing is valid.

    Parameters
    ----------
    dut : handle
    outstanding_reads : int
        Read bursts that may be in flight.
    prefix : str
    beat : int
        Bytes of the core's beat.
    any_strobes : bool
        Whether a beat may write any of its bytes; otherwise those where one line begins or ends.

    Attributes
    ----------
    read_bursts, write_bursts : list of (int, int)
        Address and beats of every burst accepted.
    read_beats, write_beats : int
        Data beats transferred.
    """

    def __init__(
        self,
        dut: Any,
        outstanding_reads: int,
        prefix: str = "m_axi_",
        *,
        beat: int = 16,
        any_strobes: bool = False,
    ) -> None:
        self.read_bursts: list[tuple[int, int]] = []
        self.write_bursts: list[tuple[int, int]] = []
        self.read_beats = 0
        self.write_beats = 0
        self._dut = dut
        self._limit = outstanding_reads
        self._any_strobes = any_strobes
        self._bus_bytes = len(getattr(dut, f"{prefix}wstrb"))
        self._beat_bytes = min(self._bus_bytes, beat)
        self._chunk = beat
        whole = (1 << beat) - 1
        # What a line has of a beat: its end, its beginning, or all of its 16 bytes and more.
        self._strobes = {
            whole << first & whole >> after
            for first in range(0, beat, 4)
            for after in range(0, beat, 4)
            if not (first and after) or beat - first - after >= 16
        }
        self._ports = {
            channel: {
                field: getattr(dut, f"{prefix}{channel}{field}") for field in (*fields, "valid", "ready")
            }
            for channel, fields in _CHANNELS.items()
        }
        answers = ("r", ("valid", "ready", "last")), ("b", ("valid", "ready"))
        for channel, fields in answers:
            self._ports[channel] = {field: getattr(dut, f"{prefix}{channel}{field}") for field in fields}
        self._reads: deque[int] = deque()
        self._unwritten: deque[tuple[int, int]] = deque()
        self._beats = 0
        self._accepted = 0
        self._written = 0
        cocotb.start_soon(self._watch())

    def assert_quiet(self) -> None:
        """Check that every burst has been served to its end."""
        assert not self._reads, f"{len(self._reads)} reads have not been answered"
        assert not self._unwritten, f"{len(self._unwritten)} bursts have not been written"
        assert not self._accepted, f"{self._accepted} writes have not been answered"
        for channel in _CHANNELS:
            assert not self._ports[channel]["valid"].value, f"{channel} is valid"

    async def _watch(self) -> None:
        edge = RisingEdge(self._dut.aclk)
        offered: dict[str, tuple[int, ...] | None] = dict.fromkeys(_CHANNELS)
        in_reset = 0
        while True:
            await edge
            if not self._dut.aresetn.value:
                in_reset += 1
                self._forget()
                offered = dict.fromkeys(_CHANNELS)
                if in_reset > 1:
                    for channel in _CHANNELS:
                        assert not self._ports[channel]["valid"].value, f"{channel} is valid in reset"
                continue
            in_reset = 0
            for channel, fields in _CHANNELS.items():
                ports = self._ports[channel]
                before = offered[channel]
                if not ports["valid"].value:
                    assert before is None, f"{channel}: valid fell before ready"
                    continue
                payload = tuple(int(ports[field].value) for field in fields)
                assert before in (None, payload), f"{channel}: changed from {before} to {payload}"
                if channel == "aw" and before is None:
                    self._unwritten.append((payload[0], payload[1] + 1))
                offered[channel] = payload
                if ports["ready"].value:
                    offered[channel] = None
                    self._transfer(channel, dict(zip(fields, payload, strict=True)))
            self._answers()

    def _transfer(self, channel: str, payload: dict[str, int]) -> None:
        if channel == "w":
            self.write_beats += 1
            self._beats += 1
            assert self._unwritten, "a beat before its burst"
            address, beats = self._unwritten[0]
            self._check_strobes(address + self._beat_bytes * (self._beats - 1), payload["strb"])
            last = self._beats == beats
            assert payload["last"] == last, f"WLAST {payload['last']} at beat {self._beats}"
            if last:
                self._unwritten.popleft()
                self._beats = 0
                self._written += 1
            return
        address, beats, size = payload["addr"], payload["len"] + 1, self._beat_bytes
        assert 1 << payload["size"] == size, f"{channel}: size {payload['size']}"
        constants = {name: payload[name] for name in _CONSTANTS}
        assert constants == _CONSTANTS, f"{channel}: {constants}"
        assert address % self._chunk == 0, f"{channel}: address {address:#x}"
        assert address % _PAGE + size * beats <= _PAGE, (
            f"{channel}: {beats} beats at {address:#x} leave the page"
        )
        if channel == "ar":
            self.read_bursts.append((address, beats))
            self._reads.append(beats)
            assert len(self._reads) <= self._limit, f"{len(self._reads)} reads in flight"
        else:
            self.write_bursts.append((address, beats))
            self._accepted += 1

    def _check_strobes(self, address: int, strobes: int) -> None:
        """Those on the bus for the beat at an address."""
        own = strobes >> address % self._bus_bytes & (1 << self._beat_bytes) - 1
        assert strobes == own << address % self._bus_bytes, f"strobes {strobes:#x} at {address:#x}"
        if self._any_strobes:
            return
        shift = address % self._chunk
        assert own in {chunk >> shift & (1 << self._beat_bytes) - 1 for chunk in self._strobes}, (
            f"strobes {strobes:#x} at {address:#x}"
        )

    def _answers(self) -> None:
        r, b = self._ports["r"], self._ports["b"]
        if r["valid"].value and r["ready"].value:
            self.read_beats += 1
            assert self._reads, "read data that nobody asked for was taken"
            self._reads[0] -= 1
            assert bool(r["last"].value) == (self._reads[0] == 0), "the memory model's RLAST"
            if not self._reads[0]:
                self._reads.popleft()
        if b["valid"].value and b["ready"].value:
            assert min(self._accepted, self._written), "a write response that nobody waits for was taken"
            self._accepted -= 1
            self._written -= 1

    def _forget(self) -> None:
        self._reads.clear()
        self._unwritten.clear()
        self._beats = 0
        self._accepted = 0
        self._written = 0
