"""Flow control around a pipeline that never stops."""

from typing import Any

from amaranth.hdl import Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.component import Component
from hdl.stream.distributed_memory import distributed_memory
from hdl.stream.pipeline import Pipeline, delay


def with_flow_control(m: Module, pipeline: Pipeline, operands: Any, result: Any) -> None:
    """Put a pipeline between two streams of a unit, with a queue behind it.

    The arithmetic never waits, so no enable has to reach its registers: operands are accepted only while the
    queue has a place for their result. Nothing passes combinationally from one port's ready to the other's.
    The latency is one cycle more than the pipeline's.

    Parameters
    ----------
    m : Module
    pipeline : Pipeline
        It has the fields of the payloads.
    operands, result : stream
    """
    # One cycle passes in the queue, and another until the place is free again.
    places = 1 << (pipeline.latency + 1).bit_length()
    m.submodules.arithmetic = pipeline
    m.submodules.queue = queue = CreditQueue(result.payload.shape(), depth=places)
    m.d.comb += [
        *(getattr(pipeline.input, name).eq(operands.payload[name]) for name in pipeline.consumes),
        *(queue.payload[name].eq(getattr(pipeline.output, name)) for name in pipeline.produces),
        operands.ready.eq(queue.ready),
        queue.enter.eq(operands.valid & operands.ready),
        queue.push.eq(delay(m, queue.enter, pipeline.latency, "occupied", reset_less=False)),
    ]
    wiring.connect(m, queue.output, wiring.flipped(result))


class CreditQueue(Component):
    """Let results of a free-running pipeline leave through a stream, and admit what there is room for.

    The pipeline has no clock enable: what entered comes out a fixed number of cycles later, and must find a
    place. So a place is reserved when an operation enters, and given back when its result has left. Both
    ready signals are then apart: `ready` of the input comes from a register, `output.ready` only ends at
    registers.

    Throughput: one per cycle, if `depth` is at least the pipeline's latency + 2. Latency: 1 cycle from
    `push` to `output.valid`. Expected critical path: the read port of the distributed memory.

    Parameters
    ----------
    shape : shape-like
        Of a result.
    depth : int
        Places; a power of two.

    Members
    -------
    ready : Out(1)
        There is a place for one more operation.
    enter : In(1)
        An operation enters the pipeline in this cycle; only while `ready`.
    push : In(1)
        A result leaves the pipeline in this cycle.
    payload : In(shape)
        That result.
    output : Out(stream.Signature(shape))

    Raises
    ------
    ValueError
        For a depth that is not a power of two above 1.
    """

    def __init__(self, shape: ShapeLike, *, depth: int) -> None:
        if depth < 2 or depth & (depth - 1):
            raise ValueError(f"depth must be a power of two above 1, not {depth}")
        self._shape = shape
        self._depth = depth
        members = {
            "ready": Out(1),
            "enter": In(1),
            "push": In(1),
            "payload": In(shape),
            "output": Out(stream.Signature(shape)),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        newest = Signal(range(self._depth))
        oldest = Signal(range(self._depth))
        write, (read,) = distributed_memory(m, "places", self._shape, write=newest, reads=[oldest])
        leave = Signal()
        m.d.comb += [
            leave.eq(self.output.valid & self.output.ready),
            write.en.eq(self.push),
            write.data.eq(self.payload),
            self.output.payload.eq(read.data),
        ]
        for event, pointer in ((self.push, newest), (leave, oldest)):
            with m.If(event):
                m.d.sync += pointer.eq(pointer + 1)

        m.d.comb += [
            self.ready.eq(self._any(m, "unreserved", more=leave, fewer=self.enter, initial=self._depth)),
            self.output.valid.eq(self._any(m, "waiting", more=self.push, fewer=leave, initial=0)),
        ]

    def _any(self, m: Module, name: str, *, more: Value, fewer: Value, initial: int) -> Value:
        """Count up and down from `initial`, up to `depth`, and return whether anything is there.

        The register holds one less than the count, so that its sign is the answer.
        """
        less_one = Signal(range(-1, self._depth), name=name, init=initial - 1)
        with m.If(more != fewer):
            m.d.sync += less_one.eq(less_one + Mux(more, 1, -1))
        return ~less_one[-1]
