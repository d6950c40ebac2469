"""From the registers to quad words: reads one fragment after the other, a quad at a time."""

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import QUADS, CoreConfig
from hdl.memory.bank_mapping import ADDRESS_BITS, BUFFERS
from hdl.memory.fragment_geometry import FragmentGeometry
from hdl.memory.store_crossbar import PlacedWord
from hdl.registers.register_ports import QUAD_BITS, READ_LATENCY, quad_read_signature
from hdl.stream.elastic import CreditQueue
from hdl.stream.pipeline import delay
from hdl.stream.queue import Queue

__all__ = ["FragmentReader", "ReadRequest"]

_PLACES = 4
"""For quads that were read and have not gone on: the cycles from a read until its place is free again."""


class ReadRequest(data.Struct):
    """A fragment to be read.

    Members
    -------
    geometry : FragmentGeometry
    register : unsigned(8)
        Its first register.
    """

    geometry: FragmentGeometry
    register: unsigned(8)


class FragmentReader(wiring.Component):
    """Reads the quads of one fragment after the other, as many ahead as there are places for.

    Throughput: a quad word per cycle, from one fragment to the next without a gap. Latency: 5 cycles from the
    request to the first quad word.
    `read.ready` ends at registers. Expected critical path: quad counter, register port.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    request : In(stream.Signature(ReadRequest))
        One may wait here while another one is under way. Ready comes from registers.
    fetched : Out(1)
        High for one cycle when the last register of a fragment has been read.
    read : Out(quad_read_signature(config))
    words : Out(stream.Signature(PlacedWord))

    Testbench
    ---------
    cocotb_tests/memory/test_store_engine.py, through `StoreEngine`.
    """

    def __init__(self, config: CoreConfig) -> None:
        super().__init__(
            {
                "request": In(stream.Signature(ReadRequest)),
                "fetched": Out(1),
                "read": Out(quad_read_signature(config)),
                "words": Out(stream.Signature(PlacedWord)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        m.submodules.places = places = CreditQueue(unsigned(QUAD_BITS), depth=_PLACES)
        m.submodules.geometries = geometries = Queue(FragmentGeometry, BUFFERS)
        self._read(m, places, geometries)

        geometry = Signal(FragmentGeometry)
        working = Signal()
        word = Signal(ADDRESS_BITS)
        last = Signal()
        taken = Signal()
        m.d.comb += [
            last.eq(word == _last_quad(geometry)),
            taken.eq(self.words.valid & self.words.ready),
            self.words.valid.eq(working & places.output.valid),
            self.words.payload.geometry.eq(geometry),
            self.words.payload.word.eq(word),
            self.words.payload.last.eq(last),
            self.words.payload.data.eq(places.output.payload),
            places.output.ready.eq(taken),
            geometries.output.ready.eq(~working | (taken & last)),
        ]
        with m.If(taken):
            m.d.sync += word.eq(word + 1)
        with m.If(geometries.output.ready):
            m.d.sync += [
                geometry.eq(geometries.output.payload),
                working.eq(geometries.output.valid),
                word.eq(0),
            ]
        return m

    def _read(self, m: Module, places: CreditQueue, geometries: Queue) -> None:
        """Walk the quads of the fragments, and keep their geometries for when the quads are there."""
        waiting = Signal(ReadRequest, reset_less=True)
        is_waiting = Signal()
        active = Signal()
        quads_left = Signal(ADDRESS_BITS)
        read = Signal()
        final = Signal()
        begin = Signal()
        m.d.comb += [
            self.request.ready.eq(~is_waiting & geometries.input.ready),
            geometries.input.payload.eq(self.request.payload.geometry),
            geometries.input.valid.eq(self.request.valid & self.request.ready),
            self.read.enable.eq(active & places.ready),
            read.eq(self.read.enable & self.read.ready),
            final.eq(read & (quads_left == 0)),
            begin.eq(is_waiting & (~active | final)),
            places.enter.eq(read),
            places.push.eq(delay(m, read, READ_LATENCY, "read_arrives", reset_less=False)),
            places.payload.eq(self.read.data),
        ]
        with m.If(self.request.valid & self.request.ready):
            m.d.sync += [waiting.eq(self.request.payload), is_waiting.eq(1)]
        m.d.sync += self.fetched.eq(final)
        with m.If(read):
            m.d.sync += [quads_left.eq(quads_left - 1), self.read.address.eq(self.read.address + 1)]
        with m.If(final):
            m.d.sync += active.eq(0)
        with m.If(begin):
            m.d.sync += [
                is_waiting.eq(0),
                active.eq(1),
                self.read.address.eq(waiting.register * QUADS),
                quads_left.eq(_last_quad(waiting.geometry)),
            ]


def _last_quad(geometry: data.View) -> Value:
    """The number of a fragment's last quad word."""
    return Mux(geometry.registers[3], ~0, (geometry.registers << 3) - 1)[:ADDRESS_BITS]
