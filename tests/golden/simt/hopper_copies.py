"""Kernels of one tensor copy."""

from golden.simt.tensor_map import TensorMap

SWIZZLES = ("NONE", "32B", "64B", "128B")

STATEMENTS = {
    "load": """mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], %n;
        cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes
            [%s], [%m, {{{at}}}], [bar];
        W: mbarrier.try_wait.parity.shared::cta.b64 %p, [bar], 0; @!%p bra W;""",
    "store": """cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group [%m, {{{at}}}], [%s];""",
}
REDUCTION = "cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{kind}.bulk_group [%m, {{{at}}}], [%s];"


def text_of(kind, rank):
    """A kernel that fills 64 KiB of shared memory, makes a copy, and gives shared memory back."""
    numbers = range(rank)
    coordinates = "".join(f", .param .s32 c{i}" for i in numbers)
    loads = " ".join(f"ld.param.s32 %c{i}, [c{i}];" for i in numbers)
    copy = STATEMENTS.get(kind, REDUCTION)
    copy = copy.format(rank=rank, kind=kind, at=", ".join(f"%c{i}" for i in numbers))
    return f""".version 8.7
.target sm_90a
.address_size 64
.shared .align 1024 .b8 image[65536];
.shared .align 8 .b64 bar;
.entry k(.param .align 64 .b8 map[128], .param .u64 image_, .param .u32 at, .param .u32 count{coordinates}) {{
.reg .b32 %c<5>, %s, %n, %o;
.reg .b64 %m, %i;
.reg .pred %p;
ld.param.u64 %i, [image_];
mbarrier.init.shared::cta.b64 [bar], 1;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 65536;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [image], [%i], 65536, [bar];
I: mbarrier.try_wait.parity.shared::cta.b64 %p, [bar], 0;
@!%p bra I;
mbarrier.inval.shared::cta.b64 [bar];
mbarrier.init.shared::cta.b64 [bar], 1;
{loads}
mov.u32 %s, image;
ld.param.u32 %o, [at];
add.u32 %s, %s, %o;
ld.param.u32 %n, [count];
mov.b64 %m, map;
cvta.param.u64 %m, %m;
{copy}
fence.proxy.async.shared::cta;
cp.async.bulk.global.shared::cta.bulk_group [%i], [image], 65536;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
ret;
}}"""


def map_of(drawn, address):
    """The map of a drawn copy."""
    return TensorMap(
        address=address,
        type=drawn["type"],
        sizes=tuple(drawn["dims"]),
        strides=tuple(drawn["strides"]),
        box=tuple(drawn["box"]),
        element_strides=tuple(drawn["element_strides"]),
        swizzle=SWIZZLES[drawn["swizzle"]],
        fill="NAN_REQUEST_ZERO_FMA" if drawn["oob"] else "NONE",
    )
