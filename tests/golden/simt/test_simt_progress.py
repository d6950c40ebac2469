"""What counts as progress: loops that change only their own memory or look at clocks end; others are told."""

import numpy as np
import pytest
from short_kernels import kernel, run

from golden.limits import WARP_INSTRUCTIONS as LIMIT
from golden.simt import Deadlock, Module, StepLimit

STEP = """
.func step(.param .b64 pointer)
{ .reg .b64 %w; .reg .b32 %q; ld.param.u64 %w, [pointer]; ld.u32 %q, [%w]; add.u32 %q, %q, 1;
  st.u32 [%w], %q; ret; }
.func (.param .b32 next) count(.param .b32 x)
{ .reg .b32 %q; ld.param.u32 %q, [x]; add.u32 %q, %q, 1; st.param.b32 [next], %q; ret; }
"""
LOOPS = {
    "local variable": """
    .local .u32 i; st.local.u32 [i], 0;
    L: ld.local.u32 %r2, [i]; add.u32 %r2, %r2, 1; st.local.u32 [i], %r2;
    ld.local.u32 %r3, [i]; setp.lt.u32 %p0, %r3, 100; @%p0 bra L;""",
    "pointer to a local variable": """
    .local .u32 i; st.local.u32 [i], 0; mov.u64 %rd2, i; cvta.local.u64 %rd2, %rd2;
    L: { .param .b64 p; st.param.b64 [p], %rd2; call step, (p); }
    ld.local.u32 %r3, [i]; setp.lt.u32 %p0, %r3, 100; @%p0 bra L;""",
    "parameter of a call": """
    .param .b32 p; st.param.b32 [p], 0;
    L: call (p), count, (p);
    ld.param.u32 %r3, [p]; setp.lt.u32 %p0, %r3, 100; @%p0 bra L;""",
}


@pytest.mark.parametrize("threads", [1, 33, 64])
@pytest.mark.parametrize("loop", LOOPS)
def test_own_memory_is_progress(loop, threads):
    found = run(f"{LOOPS[loop]} st.global.u32 [%rd1], %r3;", threads, before=STEP)
    assert found.tolist() == [100] * threads


CLOCKS = {
    "%clock": 32,
    "%clock64": 64,
    "%globaltimer": 64,
    "%globaltimer_lo": 32,
}


@pytest.mark.parametrize(
    ("ticks", "live"),
    [(1000, False), (1_000_000, False), (1_000_000_000, False), (1000, True), (1_000_000, True)],
)
@pytest.mark.parametrize("clock", CLOCKS)
def test_a_wait_for_a_time_ends_soon(clock, ticks, live):
    """`live`: the register with the time is kept from round to round."""
    bits = CLOCKS[clock]
    start, now, past = (f"%r{i}" if bits == 32 else f"%rd{i}" for i in (5, 6, 7))
    read = f"mov.u{bits} {now}, {clock};"
    body = f"""
    mov.u{bits} {start}, {clock}; {read if live else ""}
    L: {"" if live else read} sub.u{bits} {past}, {now}, {start}; {read if live else ""}
    setp.lt.u{bits} %p0, {past}, {ticks}; @%p0 bra L;
    st.global.u32 [%rd1], %r0;"""
    assert run(body, 64, limit=100_000).tolist() == list(range(64))


@pytest.mark.parametrize("end", ["other warp", "other block"])
def test_time_is_not_skipped_while_others_can_run(end):
    """A wait with a timeout does not time out before a store that takes longer than a round of the wait."""
    who = "mov.u32 %r7, %ctaid.x;" if end == "other block" else "shr.u32 %r7, %r0, 5;"
    body = f"""
    {who} setp.eq.u32 %p0, %r7, 1; @%p0 bra WORK;
    mov.u64 %rd2, %globaltimer;
    L: ld.volatile.global.u32 %r2, [%rd0+512]; setp.ne.u32 %p1, %r2, 0; @%p1 bra SEEN;
    mov.u64 %rd3, %globaltimer; sub.u64 %rd3, %rd3, %rd2; setp.lt.u64 %p2, %rd3, 1000000; @%p2 bra L;
    mov.u32 %r2, 99;
    SEEN: st.global.u32 [%rd1], %r2; bra END;
    WORK: mov.u32 %r3, 0; N: add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 5000; @%p3 bra N;
    mov.u32 %r4, 7; st.volatile.global.u32 [%rd0+512], %r4; END:"""
    array = np.zeros(256, np.uint32)
    kernel(body).launch(2 if end == "other block" else 1, 32 if end == "other block" else 64, [array])
    assert array[:32].tolist() == [7] * 32


POLL = "setp.lt.u32 %p0, %r0, 32; setp.eq.u32 %p4, %r0, 9999; mov.u32 %r9, 0; mov.u32 %r8, 0; @!%p0 bra B;"
HALVES = "and.b32 %r7, %r0, 31; setp.lt.u32 %p0, %r7, 16; mov.u32 %r9, 0; @!%p0 bra B;"
COUNT = "B: add.u32 %r9, %r9, 1; setp.eq.u32 %p2, %r9, 100;"
POLLS = {
    "bar.red": f"""{POLL}
    A: bar.red.or.pred %p1, 0, %p4; @!%p1 bra A; bra END;
    {COUNT} bar.red.or.pred %p1, 0, %p2; @!%p1 bra B;""",
    "barrier.red with a count": f"""{POLL}
    A: barrier.red.popc.u32 %r2, 3, 64, %p4; setp.eq.u32 %p1, %r2, 0; @%p1 bra A; bra END;
    {COUNT} barrier.red.popc.u32 %r2, 3, 64, %p2; setp.eq.u32 %p1, %r2, 0; @%p1 bra B;""",
    "bar.sync and a flag": f"""{POLL} .shared .u32 flag;
    A: bar.sync 0; ld.volatile.shared.u32 %r2, [flag]; setp.eq.u32 %p1, %r2, 0; bar.sync 0;
    @%p1 bra A; bra END;
    {COUNT} @%p2 st.volatile.shared.u32 [flag], %r9; bar.sync 0; bar.sync 0; @!%p2 bra B;""",
    "long rounds": f"""{POLL}
    A: bar.red.or.pred %p1, 0, %p4; @!%p1 bra A; bra END;
    {COUNT} mov.u32 %r8, 0; C: add.u32 %r8, %r8, 1; setp.lt.u32 %p3, %r8, 40; @%p3 bra C;
    bar.red.or.pred %p1, 0, %p2; @!%p1 bra B;""",
    "one barrier for both": """setp.lt.u32 %p0, %r0, 32; mov.u32 %r9, 0;
    L: setp.eq.u32 %p2, %r9, 100; bar.red.or.pred %p1, 0, %p2; @%p1 bra END; @%p0 bra L;
    add.u32 %r9, %r9, 1; bra L;""",
    "a barrier of each pair": f"""setp.ge.u32 %p3, %r0, 64; @%p3 bra B;
    {POLL.replace("bra B", "bra C")}
    A: bar.red.or.pred %p1, 1, 64, %p4; @!%p1 bra A; bra END;
    C: bar.red.or.pred %p2, 2, 64, %p4; bar.red.or.pred %p1, 1, 64, %p2; @!%p1 bra C; bra END;
    {COUNT} bar.red.or.pred %p1, 2, 64, %p2; @!%p1 bra B;""",
    "bar.warp.sync and a flag": f"""{HALVES} .shared .u32 flags[3]; shr.u32 %r5, %r0, 5; shl.b32 %r5, %r5, 2;
    mov.u32 %r6, flags; add.u32 %r6, %r6, %r5;
    A: bar.warp.sync -1; ld.volatile.shared.u32 %r2, [%r6]; setp.eq.u32 %p1, %r2, 0; @%p1 bra A; bra END;
    B: shr.u32 %r5, %r0, 5; shl.b32 %r5, %r5, 2; mov.u32 %r6, flags; add.u32 %r6, %r6, %r5;
    C: add.u32 %r9, %r9, 1; bar.warp.sync -1; setp.lt.u32 %p2, %r9, 100; @%p2 bra C;
    st.volatile.shared.u32 [%r6], %r9; bar.warp.sync -1;""",
    "vote": f"""{HALVES}
    A: vote.sync.any.pred %p1, 0, -1; @!%p1 bra A; bra END;
    {COUNT} vote.sync.any.pred %p1, %p2, -1; @!%p1 bra B;""",
    "one vote for both": """and.b32 %r7, %r0, 31; setp.lt.u32 %p0, %r7, 16; mov.u32 %r9, 0;
    L: setp.eq.u32 %p2, %r9, 100; vote.sync.any.pred %p1, %p2, -1; @%p1 bra END; @%p0 bra L;
    add.u32 %r9, %r9, 1; bra L;""",
    "the end of a thread": """setp.lt.u32 %p0, %r0, 32; mov.u32 %r9, 0; mov.u32 %r8, 0; @!%p0 bra B;
    A: bar.red.popc.u32 %r2, 0, %p0; bar.red.popc.u32 %r3, 0, !%p0;
    setp.ne.u32 %p1, %r3, 0; @%p1 bra A; bra END;
    B: add.u32 %r9, %r9, 1; bar.red.popc.u32 %r2, 0, %p0; bar.red.popc.u32 %r3, 0, !%p0;
    setp.lt.u32 %p2, %r9, 100; @%p2 bra B;""",
    "a time": f"""{POLL} mov.u64 %rd5, %globaltimer;
    A: bar.red.or.pred %p1, 0, %p4; @!%p1 bra A; bra END;
    B: mov.u64 %rd5, %globaltimer;
    C: mov.u64 %rd6, %globaltimer; sub.u64 %rd6, %rd6, %rd5; setp.gt.u64 %p2, %rd6, 1000000;
    bar.red.or.pred %p1, 0, %p2; @!%p1 bra C; mov.u32 %r9, 100;""",
}
"""Threads poll through barriers without a change, while others count in registers, to 100."""


@pytest.mark.parametrize("loop", POLLS)
def test_a_barrier_that_opens_is_progress(loop):
    threads = 96 if loop == "a barrier of each pair" else 64
    found = run(f"{POLLS[loop]}\nEND: st.global.u32 [%rd1], %r9;", threads, limit=100_000)
    polls = (
        (np.arange(threads) % 32 < 16)
        if "vote" in loop or "warp" in loop
        else np.arange(threads) < threads - 32
    )
    assert found.tolist() == np.where(polls, 0, 100).tolist()


ENDLESS = {
    "alone": "A: bar.sync 0; bra A;",
    "of a warp": "A: bar.warp.sync -1; bra A;",
    "of halves": f"{HALVES} A: bar.warp.sync -1; bra A; B: bar.warp.sync -1; bra B;",
    "with each other": f"""{POLL}
    A: bar.red.or.pred %p1, 0, %p4; @!%p1 bra A; bra END; B: bar.red.or.pred %p1, 0, %p4; @!%p1 bra B;""",
    "three barriers": f"""{POLL}
    A: bar.sync 1, 64; bar.sync 2, 64; bar.sync 3, 64; bra A;
    B: bar.sync 1, 64; bar.sync 2, 64; bar.sync 3, 64; bra B;""",
}


@pytest.mark.parametrize("loop", ENDLESS)
def test_barriers_that_change_nothing_are_a_deadlock(loop):
    with pytest.raises(
        Deadlock, match=r"and nothing is left to make one: block \(0, 0, 0\) at line \d+ \(warps 0"
    ):
        run(f"{ENDLESS[loop]}\nEND:", 64, limit=100_000)


@pytest.mark.parametrize(
    "state",
    [
        "",
        "nanosleep.u32 100;",
        "atom.global.max.u32 %r3, [%rd0], 0;",
        "atom.global.cas.b32 %r3, [%rd0], 5, 6;",
        "activemask.b32 %r3;",
        "vote.sync.ballot.b32 %r3, 1, -1;",
        "st.local.u32 [own], %r2;",
        "mov.u64 %rd4, %clock64; st.local.u32 [own], %r2;",
        "cp.async.wait_all;",
    ],
)
def test_a_wait_for_nobody_is_a_deadlock(state):
    body = f"""
    .local .u32 own;
    L: {state} ld.volatile.global.u32 %r2, [%rd0]; setp.eq.u32 %p0, %r2, 0; @%p0 bra L;
    st.global.u32 [%rd1], %r2;"""
    with pytest.raises(Deadlock, match="a block loops without a change, and nothing is left to make one"):
        run(body, 32, limit=100_000)


def test_an_endless_launch_tells_where_it_was_and_how_to_go_on(monkeypatch):
    body = "L: add.u32 %r1, %r1, 1; st.global.u32 [%rd1], %r1; bra L;"
    how = r"limit= in Python and --limit on the command line raise it; the warps are at line 14 \(warps 0\)"
    where = r"at short\.ptx:14: L: add\.u32"
    with pytest.raises(StepLimit, match=f"more than 1000 warp instructions.*{how}.*{where}"):
        run(body, 32, limit=1000)
    monkeypatch.setattr("golden.simt.grid.STEPS", 500)
    with pytest.raises(StepLimit, match=f"more than 500 basic blocks, which go with {LIMIT} warp.*{how}"):
        run(body, 32)
    with pytest.raises(StepLimit, match=f"more than 1000 basic blocks, which go with {2 * LIMIT} warp"):
        run(body, 32, limit=2 * LIMIT)


def test_a_kernel_without_instructions_tells_its_line_at_the_limit():
    module = Module(".version 8.0\n.target sm_90\n.address_size 64\n.entry empty()\n{ }", "empty.ptx")
    with pytest.raises(StepLimit, match=r"the warps are at their end .*at empty\.ptx:4: \.entry empty"):
        module.kernel().launch(1, 64, limit=1)


GRID_BARRIER = """
    mov.u32 %r8, %envreg1; mov.u32 %r9, %envreg2; mov.b64 %rd5, {%r9, %r8};
    mov.u32 %r4, %nctaid.x; sub.u32 %r5, %r4, 1;
    atom.global.add.u32 %r2, [%rd5+4], 1; bar.sync 0;
    L: ld.volatile.global.u32 %r3, [%rd5+4]; setp.lt.u32 %p0, %r3, %r4; @%p0 bra L;
    mov.u32 %r6, %reserved_smem_offset_1; st.shared.u32 [%r6+284], %r3; ld.shared.u32 %r7, [%r6+284];
    mov.u32 %r6, %ctaid.x; mul.wide.u32 %rd6, %r6, 4; ld.param.u64 %rd7, [a]; add.u64 %rd7, %rd7, %rd6;
    st.global.u32 [%rd7], %r7;"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_blocks_meet_in_the_workspace_of_the_grid(jobs):
    out = np.zeros(3, np.uint32)
    for _ in range(2):  # a launch begins with a workspace of its own
        kernel(GRID_BARRIER).launch(3, 1, [out], jobs=jobs)
        assert out.tolist() == [3, 3, 3]
