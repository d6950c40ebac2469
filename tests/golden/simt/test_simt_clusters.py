"""Clusters: ranks, barriers, and the shared memory of other blocks."""

import numpy as np
import pytest
from short_kernels import HEADER

from golden.ptx.source import PtxError
from golden.simt import Deadlock, KernelFault, LaunchError, Module

RENDEZVOUS = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"


def cluster(body, extents=(2,), before="", directives=""):
    """A kernel with %rd0 as its argument, %r0 as the thread, %r1 as the rank and %r2 as the block."""
    size = ", ".join(map(str, extents))
    directives = f".explicitcluster .reqnctapercluster {size}" if extents else directives
    return Module(f"""{HEADER} .entry k(.param .u64 a) {directives} {{
        .shared .align 16 .b32 box[64]; .shared .align 8 .b64 bar; {before}
        .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .pred %p<9>; .reg .b16 %h<9>; .reg .f32 %f<9>;
        ld.param.u64 %rd0, [a]; mov.u32 %r0, %tid.x; mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %ctaid.x;
        {body} ret; }}""").kernel()


NAMES = ("ctarank", "nctarank", *(f"{name}.{axis}" for name in ("ctaid", "nctaid") for axis in "xyz"))


def test_places_of_blocks_in_clusters():
    """By hand: a grid of 4 x 6 x 2 blocks in clusters of 2 x 3 x 1."""
    names = [f"%cluster_{name}" for name in NAMES]
    names += [f"%{name}.{axis}" for name in ("clusterid", "nclusterid") for axis in "xyz"]
    stores = "".join(
        f"mov.u32 %r9, {name}; st.global.u32 [%rd1 + {4 * i}], %r9;" for i, name in enumerate(names)
    )
    body = f"""mov.u32 %r3, %ctaid.y; mov.u32 %r4, %ctaid.z; mad.lo.u32 %r3, %r4, 6, %r3;
        mad.lo.u32 %r2, %r3, 4, %r2; mad.wide.u32 %rd1, %r2, 64, %rd0; {stores}
        mov.pred %p0, %is_explicit_cluster; selp.u32 %r9, 1, 0, %p0; st.global.u32 [%rd1 + 60], %r9;"""
    out = np.zeros((2, 6, 4, 16), np.uint32)
    cluster(body, (2, 3, 1)).launch((4, 6, 2), 1, [out])
    for z, y, x in np.ndindex(2, 6, 4):
        rank, place = x % 2 + 2 * (y % 3), [x % 2, y % 3, 0]
        assert out[z, y, x].tolist() == [rank, 6, *place, 2, 3, 1, x // 2, y // 3, z, 2, 2, 2, 0, 1], (
            x,
            y,
            z,
        )


EXCHANGE = """
    mov.u32 %r3, box; mad.lo.u32 %r3, %r0, 4, %r3;
    mad.lo.u32 %r4, %r1, 100, %r0; add.u32 %r5, %r1, 1; and.b32 %r5, %r5, 3;
    {store}
    barrier.cluster.arrive; barrier.cluster.wait;
    {load}
    mov.u32 %r7, %ntid.x; mad.lo.u32 %r7, %r2, %r7, %r0; mad.wide.u32 %rd1, %r7, 4, %rd0;
    st.global.u32 [%rd1], %r6;
    barrier.cluster.arrive; barrier.cluster.wait;
"""
MAP = "mapa.shared::cluster.u32 %r8, %r3, %r5;"
GENERIC = "cvt.u64.u32 %rd2, %r3; cvta.shared.u64 %rd2, %rd2; mapa.u64 %rd3, %rd2, %r5;"
STORES = {
    "shared": f"{MAP} st.shared::cluster.u32 [%r8], %r4;",
    "generic": f"{GENERIC} st.u32 [%rd3], %r4;",
    "atomic": f"st.shared.u32 [%r3], 0; {RENDEZVOUS} {MAP} "
    "red.relaxed.cluster.shared::cluster.add.u32 [%r8], %r4;",
    "converted": f"{GENERIC} cvta.to.shared::cluster.u64 %rd4, %rd3; st.shared::cluster.u32 [%rd4], %r4;",
}  # fmt: skip


@pytest.mark.parametrize("store", STORES)
def test_a_store_reaches_the_next_block_of_the_cluster(store):
    out = np.zeros((8, 64), np.uint32)
    body = EXCHANGE.format(store=STORES[store], load="ld.shared.u32 %r6, [%r3];")
    cluster(body, (4,)).launch(8, 64, [out])
    assert out.tolist() == [[(block - 1) % 4 * 100 + thread for thread in range(64)] for block in range(8)]


@pytest.mark.parametrize(
    "load", [f"{MAP} ld.shared::cluster.u32 %r6, [%r8];", f"{GENERIC} ld.u32 %r6, [%rd3];"]
)
def test_a_load_finds_what_the_next_block_has(load):
    out = np.zeros((4, 64), np.uint32)
    body = EXCHANGE.format(store="st.shared.u32 [%r3], %r4;", load=load)
    cluster(body, (4,)).launch(4, 64, [out])
    assert out.tolist() == [[(block + 1) % 4 * 100 + thread for thread in range(64)] for block in range(4)]


def test_ranks_of_addresses_are_told():
    body = f"""mov.u32 %r3, box; mov.u32 %r5, 1; {MAP} getctarank.shared::cluster.u32 %r6, %r8;
        {GENERIC} getctarank.u64 %r7, %rd3; getctarank.shared::cluster.u32 %r9, %r3;
        isspacep.shared::cta %p0, %rd3; isspacep.shared::cluster %p1, %rd3; isspacep.shared %p2, %rd2;
        selp.u32 %r10, 1, 0, %p0; selp.u32 %r11, 1, 0, %p1; selp.u32 %r12, 1, 0, %p2;
        mad.wide.u32 %rd1, %r2, 32, %rd0; st.global.v2.u32 [%rd1], {{%r6, %r7}}; st.global.u32 [%rd1+8], %r9;
        st.global.u32 [%rd1+12], %r10; st.global.v2.u32 [%rd1+16], {{%r11, %r12}}; {RENDEZVOUS}"""
    out = np.zeros((2, 8), np.uint32)
    cluster(body).launch(2, 1, [out])
    assert out[:, :6].tolist() == [[1, 1, 0, 0, 1, 1], [1, 1, 1, 1, 1, 1]]


SENT = """
    setp.eq.u32 %p0, %r0, 0; mov.u32 %r3, box; mad.lo.u32 %r3, %r0, 16, %r3; xor.b32 %r5, %r1, 1;
    st.shared.v4.u32 [%r3], {{%r0, %r0, %r0, %r0}};
    @%p0 mbarrier.init.shared::cta.b64 [bar], 1;
    @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {bytes};
    barrier.cluster.arrive; barrier.cluster.wait;
    mapa.shared::cluster.u32 %r8, %r3, %r5; mapa.shared::cluster.u32 %r9, bar, %r5;
    mad.lo.u32 %r4, %r1, 100, %r0; add.u32 %r6, %r4, 1000; mov.b64 %rd2, {{%r4, %r6}};
    {send}
    W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0; @!%p1 bra W;
    ld.shared.v4.u32 {{%r10, %r11, %r12, %r13}}, [%r3];
    mad.lo.u32 %r7, %r2, 16, %r0; mad.wide.u32 %rd1, %r7, 16, %rd0;
    st.global.v4.u32 [%rd1], {{%r10, %r11, %r12, %r13}};
    barrier.cluster.arrive; barrier.cluster.wait;
"""
TRANSACTED = "mbarrier::complete_tx::bytes"
SENDS = {
    f"st.async.shared::cluster.{TRANSACTED}.u32 [%r8], %r4, [%r9];": (4, lambda v, t: [v, t, t, t]),
    f"st.async.weak.shared::cluster.{TRANSACTED}.v4.u32 [%r8], {{%r4, %r4, %r6, %r4}}, [%r9];": (
        16, lambda v, t: [v, v, v + 1000, v],
    ),
    f"red.async.relaxed.cluster.shared::cluster.{TRANSACTED}.max.u32 [%r8], %r6, [%r9];": (
        4, lambda v, t: [v + 1000, t, t, t],
    ),
    f"red.async.relaxed.cluster.shared::cluster.{TRANSACTED}.add.u64 [%r8], %rd2, [%r9];": (
        8, lambda v, t: [v + t, v + t + 1000, t, t],
    ),
    f"bar.sync 0; cp.async.bulk.shared::cluster.shared::cta.{TRANSACTED} [%r8], [%r3], 16, [%r9];": (
        16, lambda v, t: [t, t, t, t],
    ),
    f"bar.sync 0; cp.reduce.async.bulk.shared::cluster.shared::cta.{TRANSACTED}.add.s32 "
    "[%r8], [%r3], 16, [%r9];": (
        16, lambda v, t: None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("send", SENDS)
def test_what_is_sent_completes_bytes_of_the_other_block(send):
    size, expected = SENDS[send]
    out = np.zeros((2, 16, 4), np.uint32)
    cluster(SENT.format(bytes=16 * size, send=send)).launch(2, 16, [out])
    for block, thread in np.ndindex(2, 16):
        values = expected(100 * (1 - block) + thread, thread)
        if values is None:  # the first block sends what it has, the second one what it has by then
            values = [(2 + block) * thread] * 4
        assert out[block, thread].tolist() == values


MULTICAST = f"""
    setp.eq.u32 %p0, %r0, 0; mov.u32 %r3, box; mad.lo.u32 %r4, %r1, 16, %r3;
    @%p0 mbarrier.init.shared::cta.b64 [bar], 1;
    @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 32;
    {RENDEZVOUS}
    mad.wide.u32 %rd1, %r1, 16, %rd0; mov.u16 %h0, 5; setp.ne.u32 %p2, %r1, 1;
    @%p2 cp.async.bulk.shared::cluster.global.{TRANSACTED}.multicast::cluster [%r4], [%rd1], 16, [bar], %h0;
    @!%p2 bra END;
    W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0; @!%p1 bra W;
    ld.shared.u32 %r5, [box]; ld.shared.u32 %r6, [box+32]; mad.wide.u32 %rd1, %r1, 8, %rd0;
    st.global.v2.u32 [%rd1+64], {{%r5, %r6}};
    END: {RENDEZVOUS}
"""


def test_a_multicast_writes_to_the_blocks_of_its_mask():
    out = np.arange(32, dtype=np.uint32)
    cluster(MULTICAST, (3,)).launch(3, 1, [out])
    assert out[16:22].tolist() == [0, 8, 18, 19, 0, 8]


def test_blocks_that_have_ended_are_not_waited_for():
    ends = "setp.eq.u32 %p0, %r1, 1; @%p0 ret;"
    body = f"{ends} {RENDEZVOUS} mad.wide.u32 %rd1, %r2, 4, %rd0; st.global.u32 [%rd1], 7;"
    out = np.zeros(4, np.uint32)
    cluster(body).launch(4, 32, [out])
    assert out.tolist() == [7, 0, 7, 0]


def test_a_barrier_that_is_never_reached_is_a_deadlock_that_says_who_is_missing():
    body = "setp.eq.u32 %p0, %r1, 1; @%p0 bra W; barrier.cluster.arrive; barrier.cluster.wait; ret; W: bra W;"
    with pytest.raises(Deadlock) as error:
        cluster(body).launch(2, 64, [0])
    message = str(error.value)
    assert "2 blocks wait without a change" in message
    assert (
        "block (0, 0, 0) at line 8 (warps 0-1); barrier.cluster: 64 threads of block (1, 0, 0) have not"
        in message
    )


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ("barrier.cluster.wait;", "barrier.cluster.wait, but the thread has not arrived"),
        ("barrier.cluster.arrive; barrier.cluster.arrive;", "has not waited for its last arrival"),
        (
            "mapa.shared::cluster.u32 %r3, box, 2; st.shared::cluster.u32 [%r3], 1;",
            "shared memory of rank 2, but the cluster has 2 blocks",
        ),
    ],
)
def test_what_no_cluster_has_is_a_fault(body, part):
    with pytest.raises(KernelFault) as error:
        cluster(body).launch(2, 32, [0])
    assert part in str(error.value)


@pytest.mark.parametrize(
    ("extents", "grid", "part"),
    [
        ((2,), 3, "clusters of (2, 1, 1), so grid.x must be a multiple of 2, not 3"),
        ((2, 2), (2, 3), "clusters of (2, 2, 1), so grid.y must be a multiple of 2, not 3"),
        ((3, 3), (3, 3), "but a cluster has at most 8 blocks, not 9"),
    ],
)
def test_a_grid_is_made_of_clusters(extents, grid, part):
    with pytest.raises(LaunchError) as error:
        cluster("", extents).launch(grid, 32, [0])
    assert part in str(error.value)


RANKS = """
    mov.u32 %r3, %cluster_nctarank; mad.wide.u32 %rd1, %r2, 8, %rd0; st.global.v2.u32 [%rd1], {%r1, %r3};
    mov.pred %p0, %is_explicit_cluster; @!%p0 st.global.u32 [%rd1], 99;"""


@pytest.mark.parametrize(("directives", "given", "size"), [("", 4, 4), (".maxclusterrank 16", (16, 1), 16)])
def test_a_launch_may_have_clusters(directives, given, size):
    out = np.zeros((32, 2), np.uint32)
    cluster(RANKS, (), directives=directives).launch(32, 1, [out], cluster=given)
    assert out.tolist() == [[block % size, size] for block in range(32)]


def test_without_clusters_a_block_is_alone():
    out = np.zeros((3, 2), np.uint32)
    cluster(RANKS, ()).launch(3, 1, [out])
    assert out.tolist() == [[99, 1]] * 3


@pytest.mark.parametrize(
    ("extents", "directives", "given", "part"),
    [
        ((2,), "", 4, "k is compiled for clusters of (2, 1, 1), not (4, 1, 1)"),
        ((), "", 16, "clusters of (16, 1, 1), but a cluster has at most 8 blocks, not 16"),
        ((), ".maxclusterrank 4", 8, "but a cluster has at most 4 blocks, not 8"),
        ((), ".maxclusterrank 32", 32, "but a cluster has at most 16 blocks, not 32"),
        ((), "", 3, "the launch has clusters of (3, 1, 1), so grid.x must be a multiple of 3, not 32"),
        ((), "", "4", "cluster takes one to three integers, not 4"),
        ((), "", (1, 0), "cluster.y must be 1 to 65535, not 0"),
    ],
)
def test_clusters_of_a_launch_fit_the_kernel(extents, directives, given, part):
    with pytest.raises(LaunchError) as error:
        cluster(RANKS, extents, directives=directives).launch(32, 1, [0], cluster=given)
    assert part in str(error.value)


@pytest.mark.parametrize(
    ("statement", "part"),
    [
        ("barrier.cluster.wait.relaxed;", "qualifier .relaxed"),
        ("barrier.cluster.arrive 1;", "takes 0 operands, not 1"),
        ("mapa.u64 %rd1, box, 1;", "needs an address of .shared::cluster"),
        ("mapa.shared::cluster.u32 %rd1, %r1, 1;", "expected a destination of 32 bits"),
        (f"red.async.relaxed.cluster.{TRANSACTED}.max.s64 [%rd1], %rd2, [%rd1];", "is not supported"),
        (f"red.async.{TRANSACTED}.add.u32 [%rd1], %r2, [%rd1];", "is not supported"),
    ],
)
def test_what_is_no_instruction_of_clusters_is_refused(statement, part):
    with pytest.raises(PtxError) as error:
        cluster(statement)
    assert part in str(error.value)
