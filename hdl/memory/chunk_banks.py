"""The on-chip memory in banks of 16 bytes, from which chunks are read at different places at once."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.component import Component
from hdl.config import CoreConfig
from hdl.memory.chunks import CHUNK_BITS, chunk_layout, chunk_request_layout
from hdl.registers.collision_free_memory import collision_free_memory


def _port_signature(config: CoreConfig, granule: int, flow: wiring.Flow) -> wiring.Signature:
    """A port of a memory of beats, as its user drives it."""
    bits = CHUNK_BITS * config.beat_quads
    words = config.shared_bytes // (bits // 8)
    return wiring.Signature({"addr": Out(range(words)), "en": Out(bits // granule), "data": flow(bits)})


class ChunkBanks(Component):
    """A memory of beats with a port each way, and chunks from anywhere while that to read is free.

    There are as many banks as chunks in a beat. Of chunks that are asked for together and lie in the same
    bank, one is read in a cycle, the lowest lane first; chunks leave as they are read.

    Throughput: a beat per cycle, or the chunks of a request if they lie in different banks. Latency: 1 cycle
    to a beat, 2 from a request to its chunks. Expected critical path: the choice of a lane by each bank to
    the address of the bank.
    Testbench: cocotb_tests/memory/test_chunk_banks.py.

    Members
    -------
    write, read
        Ports as of `amaranth.lib.memory`.
    enable : In(1)
        `read` is not used in this cycle, and nothing is written.
    requests : In(stream.Signature(chunk_request_layout(config)))
    busy : Out(1)
        There is a request.
    chunks : Out(chunk_layout(config))
    conflict : Out(1)
        In this cycle chunks were read, and others had to wait for their banks.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "write": In(_port_signature(config, 8, Out)),
                "read": In(_port_signature(config, CHUNK_BITS * config.beat_quads, In)),
                "enable": In(1),
                "requests": In(stream.Signature(chunk_request_layout(config))),
                "busy": Out(1),
                "chunks": Out(chunk_layout(config)),
                "conflict": Out(1),
            }
        )

    def _logic(self, m: Module) -> None:
        lanes = self._config.beat_quads
        inner = lanes.bit_length() - 1
        request = self.requests.payload
        left, started = Signal(lanes), Signal()
        asked, granted = Signal(lanes), Signal(lanes)
        m.d.comb += self.busy.eq(self.requests.valid)
        with m.If(self.requests.valid):
            m.d.comb += asked.eq(Mux(started, left, request.mask))
        words = []
        for bank in range(lanes):
            memory = collision_free_memory(
                unsigned(CHUNK_BITS), self._config.shared_bytes * 8 // (CHUNK_BITS * lanes)
            )
            m.submodules[f"bank_{bank}"] = memory
            write, read = memory.write_port(granularity=8), memory.read_port()
            place: Value = self.read.addr
            for lane in reversed(range(lanes)):
                here = asked[lane] & (request.addresses[lane][:inner] == bank)
                below = (asked[other] & (request.addresses[other][:inner] == bank) for other in range(lane))
                first = here & ~Cat(below).any()
                place = Mux(self.enable & first, request.addresses[lane][inner:], place)
                with m.If(first):
                    m.d.comb += granted[lane].eq(1)
            m.d.comb += [
                write.addr.eq(self.write.addr),
                write.data.eq(self.write.data.word_select(bank, CHUNK_BITS)),
                write.en.eq(self.write.en.word_select(bank, CHUNK_BITS // 8)),
                read.addr.eq(place),
                read.en.eq(self.read.en | self.enable),
            ]
            words.append(read.data)
        m.d.comb += self.read.data.eq(Cat(words))

        serves = self.requests.valid & self.enable
        ends = (asked & ~granted) == 0
        served = Signal()
        tag, last = Signal.like(self.chunks.tag, reset_less=True), Signal()
        mask = Signal(lanes)
        banks = Signal(inner * lanes or 1, reset_less=True)
        m.d.comb += [self.requests.ready.eq(serves & ends), self.conflict.eq(serves & ~ends)]
        m.d.sync += [
            served.eq(serves),
            mask.eq(Mux(serves, granted, 0)),
            tag.eq(request.tag),
            last.eq(request.last & ends & serves),
            banks.eq(Cat(request.addresses[lane][:inner] for lane in range(lanes))),
            self.chunks.valid.eq(served),
            self.chunks.mask.eq(mask),
            self.chunks.tag.eq(tag),
            self.chunks.last.eq(last),
            self.chunks.data.eq(
                Cat(
                    Array(words)[banks.word_select(lane, inner)] if inner else words[0]
                    for lane in range(lanes)
                )
            ),
        ]
        with m.If(serves):
            m.d.sync += [left.eq(asked & ~granted), started.eq(~ends)]
