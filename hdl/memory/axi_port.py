"""The memory port's side towards the AXI4 bus."""

from amaranth.hdl import Module, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.config import CoreConfig
from hdl.memory.axi import Axi4Signature, burst_layout
from hdl.memory.axi_reads import AxiReads
from hdl.memory.axi_writes import AxiWrites
from hdl.memory.beats import ReadBeat, WriteBeat

__all__ = ["AxiPort"]


class AxiPort(wiring.Component):
    """Reads and writes in beats of 16 bytes on an AXI4 bus of `config.data_bits`.

    The fragment crossbar takes 16 bytes a cycle, so a bus of more carries 16 bytes a beat, on the byte lanes
    of its address, and nothing is fetched twice; a bus of 8 bytes carries two beats for one.

    The two directions are independent. Throughput and latency: see `AxiReads` and `AxiWrites`.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    read_bursts, write_bursts : In(stream.Signature(burst_layout(config)))
        Of beats of 16 bytes, none crossing a multiple of 4 KiB, at most 128 beats each.
    read_beats : Out(stream.Signature(ReadBeat))
    write_beats : In(stream.Signature(WriteBeat))
    write_responses : Out(stream.Signature(2))
    axi : Out(Axi4Signature(config))

    Testbench
    ---------
    cocotb_tests/memory/test_memory_port.py, through `MemoryPort`.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "read_bursts": In(stream.Signature(burst_layout(config))),
                "read_beats": Out(stream.Signature(ReadBeat)),
                "write_bursts": In(stream.Signature(burst_layout(config))),
                "write_beats": In(stream.Signature(WriteBeat)),
                "write_responses": Out(stream.Signature(unsigned(2))),
                "axi": Out(Axi4Signature(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        m.submodules.reads = reads = AxiReads(self._config)
        m.submodules.writes = writes = AxiWrites(self._config)
        connect(m, flipped(self.read_bursts), reads.bursts)
        connect(m, reads.beats, flipped(self.read_beats))
        connect(m, flipped(self.write_bursts), writes.bursts)
        connect(m, flipped(self.write_beats), writes.beats)
        connect(m, writes.responses, flipped(self.write_responses))
        for unit, channels in ((reads, ("ar", "r")), (writes, ("aw", "w", "b"))):
            for channel in channels:
                connect(m, getattr(unit, channel), flipped(getattr(self.axi, channel)))
        return m
