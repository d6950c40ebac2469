"""From blocks of rows to the addresses of their chunks in the on-chip memory, swizzled."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.component import Component
from hdl.config import CoreConfig
from hdl.memory.chunks import CHUNK_ADDRESS_BITS, TAG_BITS, chunk_request_layout
from hdl.stream.queue import Queue
from hdl.warpgroup.request import FetchJob, span_log2

_CHUNKS_LOG2 = 5
"""Of a block."""


class ChunkTag(data.Struct):
    """Which chunks of which block these are."""

    is_b: unsigned(1)
    block: unsigned(3)
    transposed: unsigned(1)
    distance_log2: unsigned(2)
    """Rows from one of a pair to the other."""
    first: unsigned(_CHUNKS_LOG2)
    """Number of the chunk of lane 0."""


class ChunkPlace(data.Struct):
    """Half, row and group of a chunk, as of `hdl.warpgroup.request.FetchJob`."""

    half: unsigned(1)
    row: unsigned(3)
    group: unsigned(1)


def chunk_place(number: Value, distance_log2: Value) -> list[Value]:
    """The fields of `ChunkPlace`, of the number of a chunk.

    Four chunks in a row are the halves of two rows: those for which the swizzle chooses different banks.
    """
    half, other, low, high, group = number
    row = Mux(
        distance_log2[1],
        Cat(low, high, other),
        Mux(distance_log2[0], Cat(low, other, high), Cat(other, low, high)),
    )
    return [half, row, group]


class ChunkFetch(Component):
    """Asks for the chunks of one block after another: as many in a cycle as a beat has quads.

    Of a beat of four quads, two rows are read at once, of 32 bytes each. With a swizzle, the rows are chosen
    so that all four chunks lie in different banks; without one the two halves of a row usually lie in the
    same bank.

    Throughput: a request per cycle, so a block of 512 bytes in 8 cycles with beats of four quads. Latency: 2
    cycles. Expected critical path: two sums of 14 bits.
    Testbench: cocotb_tests/warpgroup/test_warpgroup.py, through `WarpgroupMultiplier`.

    Members
    -------
    jobs : In(stream.Signature(FetchJob))
    requests : Out(stream.Signature(chunk_request_layout(config)))
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "jobs": In(stream.Signature(FetchJob)),
                "requests": Out(stream.Signature(chunk_request_layout(config))),
            }
        )

    def _logic(self, m: Module) -> None:
        lanes = self._config.beat_quads
        inner = lanes.bit_length() - 1
        m.submodules.queue = queue = Queue(chunk_request_layout(self._config), 2)
        connect(m, queue.output, flipped(self.requests))
        job = self.jobs.payload
        step = Signal(_CHUNKS_LOG2 - inner)
        distance_log2 = Signal(2)
        is_last = Signal()
        advance = Signal()
        valid = Signal()
        tag = Signal(ChunkTag, reset_less=True)
        mask = Signal(lanes, reset_less=True)
        last = Signal()
        m.d.comb += [
            # 128 bytes: 2 rows; 64 bytes: 4 rows; 32 bytes and none: the next row.
            distance_log2.eq(Mux(job.swizzle[0] & job.swizzle[1], 0, job.swizzle)),
            is_last.eq(step[:-1].all() & (step[-1] | (job.is_short & ~job.transposed))),
            advance.eq(~valid | queue.input.ready),
            self.jobs.ready.eq(advance & is_last),
            queue.input.valid.eq(valid),
            queue.input.payload.mask.eq(mask),
            queue.input.payload.tag.eq(tag.as_value()),
            queue.input.payload.last.eq(last),
        ]
        with m.If(advance):
            m.d.sync += [
                valid.eq(self.jobs.valid),
                last.eq(is_last),
                tag.is_b.eq(job.is_b),
                tag.block.eq(job.block),
                tag.transposed.eq(job.transposed),
                tag.distance_log2.eq(distance_log2),
                tag.first.eq(Cat(Const(0, inner), step)),
            ]
            with m.If(self.jobs.valid):
                m.d.sync += step.eq(Mux(is_last, 0, step + 1))
        span = span_log2(job.swizzle)
        held_bits, base = Signal(3, reset_less=True), Signal(3, reset_less=True)
        with m.If(advance):
            m.d.sync += [held_bits.eq((1 << span) - 1), base.eq(job.base)]
        for lane in range(lanes):
            number = Cat(Const(lane, inner), step)
            half, row, group = chunk_place(number, distance_log2)
            address = Signal(CHUNK_ADDRESS_BITS, reset_less=True, name=f"address_{lane}")
            with m.If(advance):
                m.d.sync += [
                    address.eq(
                        job.start + Mux(group, job.across, 0) + (row << span) + Mux(half, job.along, 0)
                    ),
                    mask[lane].eq(~(job.is_short & job.transposed & half)),
                ]
            crossed = (address[3:6] - base)[:3] & held_bits
            m.d.comb += queue.input.payload.addresses[lane].eq(Cat(address[:3] ^ crossed, address[3:]))


if ChunkTag.as_shape().size > TAG_BITS:
    raise ValueError(f"Tags must have {ChunkTag.as_shape().size} bits, not {TAG_BITS}")
