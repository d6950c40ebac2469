"""Gathers the shares of a warpgroup that have B in common, and has their operands fetched."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.component import Component
from hdl.config import WARPS_OF_A_GROUP, CoreConfig
from hdl.multiply.tile.request import TileRequest
from hdl.stream.queue import Queue
from hdl.stream.turns import take_turns
from hdl.warpgroup.request import BLOCKS, FetchJob, Gang, WgmmaRequest, span_log2

_GANGS = 2
"""Gangs whose A is in the operand storage or on its way there."""

_OF_WARP = ("x", "y", "c", "d")
"""Fields of a tile that each member has of its own."""


class Gather(Component):
    """Takes the shares of one warp group that wait and are equal but for A, D and the registers, as a gang.

    A share that no other warp has in common is a gang of one; nobody waits for a warp. So a program may give
    the shares to as few warps as it likes. In a loop all four meet: while a gang is computed, the next
    shares of all its warps arrive.

    Throughput: a block of A or B for each job, about 4 cycles each, which is less than it takes to fetch.
    Latency: 5 cycles from a share to its first job. Expected critical path: the comparison of two shares.
    Testbench: cocotb_tests/warpgroup/test_warpgroup.py, through `WarpgroupMultiplier`.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    requests : In(stream.Signature(WgmmaRequest)).array(warps)
        Each for one cycle in which it is ready.
    jobs : Out(stream.Signature(FetchJob))
    gangs : Out(stream.Signature(Gang))
        Offered when the jobs of A have been given.
    a_freed, b_freed : In(1)
        The A of the oldest gang, the oldest block of B, has been read for the last time.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "requests": In(stream.Signature(WgmmaRequest)).array(config.warps),
                "jobs": Out(stream.Signature(FetchJob)),
                "gangs": Out(stream.Signature(Gang)),
                "a_freed": In(1),
                "b_freed": In(1),
            }
        )

    def _logic(self, m: Module) -> None:
        warps = self._config.warps
        m.submodules.jobs = jobs = Queue(FetchJob, 2)
        m.submodules.gangs = gangs = Queue(Gang, _GANGS)
        connect(m, jobs.output, flipped(self.jobs))
        connect(m, gangs.output, flipped(self.gangs))
        waiting = Signal(warps)
        held = [Signal(WgmmaRequest, name=f"share_{warp}", reset_less=True) for warp in range(warps)]
        for warp, request in enumerate(self.requests):
            m.d.comb += request.ready.eq(~waiting[warp])
            with m.If(request.valid & request.ready):
                m.d.sync += [held[warp].eq(request.payload), waiting[warp].eq(1)]
        turn = take_turns(m, "turn", waiting)
        chosen = Signal(range(max(warps, 2)))
        leader, candidate = Signal(WgmmaRequest, reset_less=True), Signal(WgmmaRequest, reset_less=True)
        gang = gangs.input.payload
        kept = Signal(Gang, reset_less=True)
        m.d.comb += gang.eq(kept)
        member = Signal(2)
        is_there = Signal()
        a_left = Signal(range(_GANGS + 1), init=_GANGS)
        b_left = Signal(range(BLOCKS + 1), init=BLOCKS)
        tiles_left = Signal(6)
        walk = _Walk(m)
        job = jobs.input.payload
        is_b = Signal()
        b_block = Signal(range(BLOCKS))
        m.d.comb += [
            job.eq(walk.job.as_value()),
            job.is_b.eq(is_b),
            job.is_short.eq(is_b & (tiles_left == 1)),
            job.block.eq(Mux(is_b, b_block, Cat(member, kept.a_buffer))),
        ]
        begins, took_b = Signal(), Signal()
        m.d.sync += [
            a_left.eq(a_left - begins + self.a_freed),
            b_left.eq(b_left - took_b + self.b_freed),
            b_block.eq(b_block + took_b),
        ]
        with m.FSM():
            with m.State("CHOOSE"):
                m.d.sync += [
                    chosen.eq(turn),
                    leader.eq(Array(held)[turn]),
                    kept.members.eq(0),
                    member.eq(0),
                ]
                with m.If(Array(waiting)[turn] & (a_left != 0)):
                    m.d.comb += begins.eq(1)
                    m.next = "LOOK"
            with m.State("LOOK"):
                number = Cat(member, chosen[2:]) if warps > WARPS_OF_A_GROUP else member
                m.d.sync += [
                    candidate.eq(Array(held)[number]),
                    is_there.eq(Array(waiting)[number]),
                ]
                m.next = "COMPARE"
            with m.State("COMPARE"):
                joins = is_there & (_common(leader) == _common(candidate))
                walk.begin(m, candidate.a, candidate.transposed[0])
                m.d.sync += walk.steps.eq(member)
                m.next = "MEMBER"
                with m.If(joins):
                    m.d.sync += [
                        kept.members.bit_select(member, 1).eq(1),
                        kept.a[member].eq(candidate.tile.x),
                        kept.d[member].eq(candidate.tile.d),
                    ]
                    taken = Cat(member, chosen[2:]) if warps > WARPS_OF_A_GROUP else member
                    m.d.sync += waiting.bit_select(taken, 1).eq(0)
                    with m.If(~leader.a_in_registers):
                        m.next = "SEEK"
            with m.State("SEEK"):
                with m.If(walk.steps != 0):
                    walk.advance(m)
                    m.d.sync += walk.steps.eq(walk.steps - 1)
                with m.Else():
                    m.d.comb += jobs.input.valid.eq(1)
                    with m.If(jobs.input.ready):
                        m.next = "MEMBER"
            with m.State("MEMBER"):
                m.d.sync += member.eq(member + 1)
                m.next = "LOOK"
                with m.If(member == WARPS_OF_A_GROUP - 1):
                    m.next = "GANG"
            with m.State("GANG"):
                walk.begin(m, leader.b, leader.transposed[1])
                m.d.sync += tiles_left.eq(leader.tiles_less_one + 1)
                m.d.comb += gangs.input.valid.eq(1)
                with m.If(gangs.input.ready):
                    m.d.sync += kept.a_buffer.eq(~kept.a_buffer)
                    m.next = "B"
            with m.State("B"):
                m.d.comb += [is_b.eq(1), jobs.input.valid.eq(b_left != 0)]
                with m.If(jobs.input.valid & jobs.input.ready):
                    m.d.comb += took_b.eq(1)
                    walk.advance(m)
                    m.d.sync += tiles_left.eq(tiles_left - 2)
                    with m.If(tiles_left <= 2):
                        m.next = "CHOOSE"
        m.d.comb += [
            gang.tile.eq(leader.tile),
            gang.tiles_less_one.eq(leader.tiles_less_one),
            gang.a_in_registers.eq(leader.a_in_registers),
            gang.scale_d.eq(leader.scale_d),
            gang.negated.eq(leader.negated),
            gang.group.eq(chosen[2:]),
        ]


class _Walk:
    """Blocks of an operand one after the other: the fields of a job that follow from the descriptor."""

    def __init__(self, m: Module) -> None:
        self.job = Signal(FetchJob, reset_less=True)
        self.steps = Signal(2)
        self._step = Signal(14, reset_less=True)
        """To the next block, but at the end of a swizzle's row."""
        self._wrap = Signal(14, reset_less=True)
        self._part = Signal(3)
        """Chunk within such a row."""
        self._last_part = Signal(3, reset_less=True)

    def begin(self, m: Module, found: data.View, transposed: Value) -> None:
        """Begin with the first block of a descriptor."""
        plain = found.swizzle == 0
        span = span_log2(found.swizzle)
        last_part = ((1 << span) - 2)[:3]
        by_span = transposed & ~plain
        job = self.job
        m.d.sync += [
            job.start.eq(found.start),
            job.swizzle.eq(found.swizzle),
            job.base.eq(found.base),
            job.transposed.eq(transposed),
            job.across.eq(Mux(transposed & plain, found.leading, found.stride)),
            job.along.eq(Mux(plain, Mux(transposed, found.stride, found.leading), 1)),
            self._step.eq(Mux(by_span, 2, found.stride << 1)),
            self._wrap.eq(Mux(by_span, found.leading - last_part, found.stride << 1)),
            self._last_part.eq(last_part),
            self._part.eq(0),
        ]

    def advance(self, m: Module) -> None:
        """Go on to the next block."""
        ends = self._part == self._last_part
        m.d.sync += [
            self.job.start.eq(self.job.start + Mux(ends, self._wrap, self._step)),
            self._part.eq(Mux(ends, 0, self._part + 2)),
        ]


def _common(share: data.View) -> Value:
    """What the members of a gang have in common."""
    tile = share.tile
    fields = [Value.cast(tile[name]) for name, _ in data.Layout.cast(TileRequest) if name not in _OF_WARP]
    others = (share[name] for name, _ in data.Layout.cast(WgmmaRequest) if name not in ("tile", "a"))
    return Cat(*fields, *(Value.cast(other) for other in others))
