"""What loads and stores do at a memory port: bursts out, beats and responses back."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import cocotb
from amaranth.lib import data
from cocotb.triggers import RisingEdge

from cocotb_tests.packing import Packing
from cocotb_tests.streams import StreamSink, pauses
from hdl.config import CoreConfig
from hdl.memory.beats import write_beat_layout
from hdl.memory.shared_memory import WORD_READ_LATENCY

__all__ = ["Burst", "BurstTraffic", "access_word", "offer"]


@dataclass(frozen=True, kw_only=True)
class Burst:
    """Consecutive beats.

    Parameters
    ----------
    space : int
        Index into `golden.tables.instruction_set.SPACES`.
    address : int
    beats : int
    """

    space: int = 0
    address: int
    beats: int


class BurstTraffic:
    """Drives the streams ``read_...`` and ``write_...`` of a memory.

    Parameters
    ----------
    dut : handle
    layout : data.StructLayout
        Of a burst; with or without a space.
    config : CoreConfig
    rng : random.Random
    share : float
        Of the cycles in which each stream waits.
    """

    def __init__(
        self, dut: Any, layout: data.StructLayout, config: CoreConfig, rng: random.Random, share: float
    ) -> None:
        self._dut = dut
        self._layout = layout
        self._write_beat = Packing(write_beat_layout(config))
        self._data_bits = 128 * config.beat_quads
        self._rng = rng
        self._share = share
        self.read_beats = StreamSink(dut, "read_beats", self._pause())
        self.write_responses = StreamSink(dut, "write_responses", self._pause())
        self._offers: list[Any] = []
        for name in ("read_bursts", "write_bursts", "write_beats"):
            getattr(dut, f"{name}_valid").value = 0

    def _pause(self) -> Iterator[bool]:
        return pauses(random.Random(self._rng.random()), self._share)

    def _offer(self, name: str, payloads: Sequence[int]) -> None:
        self._offers.append(cocotb.start_soon(offer(self._dut, name, payloads, self._pause())))

    def _payload(self, burst: Burst) -> int:
        fields = {"space": burst.space, "address": burst.address, "length": burst.beats - 1}
        return int(self._layout.const({name: fields[name] for name, _ in self._layout}).as_bits())

    def stop(self) -> None:
        """Leave everything as it is."""
        for task in self._offers:
            task.cancel()
        self.read_beats.stop()
        self.write_responses.stop()

    async def read(self, bursts: Sequence[Burst], limit: int = 20_000) -> list[list[tuple[int, int]]]:
        """Read bursts; returns data and response of each beat of each of them."""
        self._offer("read_bursts", [self._payload(burst) for burst in bursts])
        taken = iter(await self.read_beats.take(sum(burst.beats for burst in bursts), limit))
        answers = []
        for burst in bursts:
            beats = [next(taken) for _ in range(burst.beats)]
            bits = self._data_bits
            lasts = [beat >> bits + 2 for beat in beats]
            assert lasts == [0] * (burst.beats - 1) + [1], f"{burst}: last {lasts}"
            answers.append([(beat & (1 << bits) - 1, beat >> bits & 0b11) for beat in beats])
        return answers

    async def write(
        self, bursts: Sequence[Burst], beats: Sequence[Sequence[tuple[int, int]]], limit: int = 20_000
    ) -> list[int]:
        """Write bursts, given data and strobes of each beat of each of them; returns the responses."""
        self.offer_write_bursts(bursts)
        self.offer_write_beats(bursts, beats)
        return await self.write_responses.take(len(bursts), limit)

    def offer_write_bursts(self, bursts: Sequence[Burst]) -> None:
        """Offer bursts to be written, one after the other."""
        self._offer("write_bursts", [self._payload(burst) for burst in bursts])

    def offer_write_beats(self, bursts: Sequence[Burst], beats: Sequence[Sequence[tuple[int, int]]]) -> None:
        """Offer the beats of bursts, one after the other."""
        payloads = []
        for burst, values in zip(bursts, beats, strict=True):
            assert len(values) == burst.beats
            payloads += [self._write_beat.pack({"data": value, "strb": strobes}) for value, strobes in values]
        self._offer("write_beats", payloads)


async def offer(dut: Any, name: str, payloads: Sequence[int], pause: Iterator[bool]) -> None:
    """Offer payloads to a stream, one after the other, each until it is taken."""
    valid, ready = getattr(dut, f"{name}_valid"), getattr(dut, f"{name}_ready")
    edge = RisingEdge(dut.aclk)
    for payload in payloads:
        while next(pause):
            valid.value = 0
            await edge
        valid.value = 1
        getattr(dut, f"{name}_payload").value = payload
        await edge
        while not ready.value:
            await edge
    valid.value = 0


async def access_word(dut: Any, address: int, value: int | None = None, limit: int = 2000) -> int:
    """Write `value` to a word of the on-chip memory, or read it; returns what was read."""
    edge = RisingEdge(dut.aclk)
    dut.words_enable.value = 1
    dut.words_is_write.value = value is not None
    dut.words_address.value = address
    dut.words_write_data.value = value or 0
    for _ in range(limit):
        await edge
        if dut.words_ready.value:
            break
    else:
        raise AssertionError(f"word {address:#x} is not served in {limit} cycles")
    dut.words_enable.value = 0
    dut.words_address.value = 0
    for _ in range(WORD_READ_LATENCY):
        await edge
    return int(dut.words_read_data.value)
