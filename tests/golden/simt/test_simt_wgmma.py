"""wgmma: where operands lie, how results are ordered, and what is refused."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hopper_draws import BYTES, draw_images, draw_wgmma
from short_kernels import kernel

from golden.matrix_descriptors import MatrixDescriptor
from golden.ptx.source import PtxError
from golden.simt import KernelFault, Module

SEED = 20261129
WIDTHS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "b1": 1}
HEADER = ".version 8.7\n.target sm_90a\n.address_size 64\n"


@pytest.fixture(scope="module")
def captured():
    with np.load(Path(__file__).parents[2] / "data" / "hopper.npz") as file:
        return dict(file)


def entry_of(name):
    """What the name of a captured kernel says, such as f16_f32_n8_s_t01_na."""
    a, d, n, source, *rest = name.split("_")
    order = next((part[1:] for part in rest if part[0] == "t"), "00")
    return {
        **{"a": a, "b": "s8" if a == "u8" else a, "d": d, "n": int(n[1:]), "source": source},
        **{"ta": int(order[0]), "tb": int(order[1]), "na": "na" in rest, "nb": "nb" in rest},
        "regs": int(n[1:]) // (4 if d == "f16" else 2),
    }


def instruction_of(entry):
    """The instruction of a captured kernel."""
    a = entry["a"]
    sparse = "selector" in entry
    shape = f"m64n{entry['n']}k{256 // WIDTHS[a] << sparse}"
    last = ".and.popc" if a == "b1" else ".satfinite" if entry.get("sat") else ""
    return f"wgmma.mma_async{'.sp' * sparse}.sync.aligned.{shape}.{entry['d']}.{a}.{entry['b']}{last}"


def digest_of(result):
    """What is kept of a captured result."""
    return int.from_bytes(hashlib.blake2b(result.tobytes(), digest_size=8).digest(), "little")


def statement(entry):
    """The multiply of a captured kernel."""
    a, registers = entry["a"], ", ".join(f"%c{i}" for i in range(entry["regs"]))
    others = []
    if a not in ("s8", "u8", "b1"):
        others = [-1 if entry[key] else 1 for key in ("na", "nb")]
    if WIDTHS[a] == 16:
        others += [entry["ta"]] * (entry["source"] == "s") + [entry["tb"]]
    name = instruction_of(entry)
    left = "%da" if entry["source"] == "s" else "{%a0, %a1, %a2, %a3}"
    metadata = f"%e, {entry['selector']}, " if "selector" in entry else ""
    return f"{name} {{{registers}}}, {left}, %db, {metadata}%scale{''.join(f', {item}' for item in others)};"


def text_of(entry):
    """A kernel that fills 64 KiB of shared memory from an image, and multiplies once in each block."""
    regs = entry["regs"]
    loads = "\n".join(f"ld.global.b32 %c{i}, [%p + {4 * i}];" for i in range(regs))
    stores = "\n".join(f"st.global.b32 [%p + {4 * i}], %c{i};" for i in range(regs))
    return f"""{HEADER}
.shared .align 1024 .b8 image[65536];
.entry k(.param .u64 images, .param .u64 da, .param .u64 db, .param .u64 ra, .param .u64 e, .param .u64 c,
  .param .u32 s) {{
.reg .{"f32" if entry["d"] == "f32" else "b32"} %c<{regs}>;
.reg .b32 %a<4>, %t, %o, %n, %b, %e;
.reg .b64 %da, %db, %p, %i, %x;
.reg .pred %scale;
mov.u32 %t, %tid.x;
mov.u32 %b, %ctaid.x;
ld.param.u64 %i, [images];
mad.wide.u32 %i, %b, 65536, %i;
mad.wide.u32 %i, %t, 16, %i;
mov.u32 %o, image;
mad.lo.u32 %o, %t, 16, %o;
add.u32 %n, %o, 65536;
LOOP:
ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%i];
st.shared.v4.b32 [%o], {{%a0, %a1, %a2, %a3}};
add.u64 %i, %i, 2048;
add.u32 %o, %o, 2048;
setp.lt.u32 %scale, %o, %n;
@%scale bra LOOP;
ld.param.u64 %p, [da];
mad.wide.u32 %p, %b, 8, %p;
ld.global.b64 %da, [%p];
ld.param.u64 %p, [db];
mad.wide.u32 %p, %b, 8, %p;
ld.global.b64 %db, [%p];
mad.lo.u32 %n, %b, 128, %t;
ld.param.u64 %p, [ra];
mad.wide.u32 %p, %n, 16, %p;
ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%p];
ld.param.u64 %p, [e];
mad.wide.u32 %p, %n, 4, %p;
ld.global.b32 %e, [%p];
ld.param.u64 %p, [c];
mad.wide.u32 %p, %n, {4 * regs}, %p;
{loads}
ld.param.u32 %n, [s];
shr.u32 %n, %n, %b;
and.b32 %n, %n, 1;
setp.ne.u32 %scale, %n, 0;
fence.proxy.async.shared::cta;
bar.sync 0;
wgmma.fence.sync.aligned;
{statement(entry)}
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
{stores}
ret;
}}"""


def different(captured, blocks):
    """The captured kernels and blocks that golden computes otherwise than an H200."""
    images, found = {name: draw_images(SEED, name) for name in BYTES}, []
    for name, number, digests in zip(
        *(captured[key] for key in ("wgmma", "wgmma_number", "wgmma_digest")), strict=True
    ):
        entry = entry_of(name)
        da, db, ra, c, image, scale = draw_wgmma(SEED, int(number), entry)
        d = c[blocks]
        arguments = [images[entry["a"]][image[blocks]], da[blocks], db[blocks], ra[blocks], ra, d]
        scales = np.uint32(0xFFFFFFFF * scale)
        Module(text_of(entry)).kernel().launch(len(blocks), 128, [*arguments, scales])
        for block, result in zip(blocks, d, strict=True):
            if digest_of(result) != digests[block]:
                found.append((str(name), block))
    return found


def test_two_blocks_of_each_captured_form_equal_the_chip(captured):
    assert different(captured, [0, 5]) == []


@pytest.mark.long
def test_every_captured_block_equals_the_chip(captured):
    assert different(captured, range(8)) == []


def small(operands, shape="m64n8k16.f32.f16.f16", before="", threads=128, opcode="wgmma.mma_async"):
    """What a kernel of one multiply leaves in %f0 to %f3 of all threads; %rd2 is a descriptor."""
    out = np.zeros((threads, 4), np.float32)
    kernel(
        f""".shared .align 1024 .b8 tile[2048];
        ld.param.u64 %rd0, [a]; mov.u32 %r0, %tid.x; mad.wide.u32 %rd1, %r0, 16, %rd0;
        mov.b64 %rd2, 0; setp.eq.u32 %p0, 0, 0; {before}
        wgmma.fence.sync.aligned;
        {opcode}.sync.aligned.{shape} {operands};
        wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
        st.global.v4.f32 [%rd1], {{%f0, %f1, %f2, %f3}};"""
    ).launch(1, threads, [out])
    return out


REGISTERS = "{%f0, %f1, %f2, %f3}"


def test_a_multiply_may_drop_its_accumulator_and_takes_constants_as_predicate():
    assert not small(f"{REGISTERS}, %rd2, %rd2, 0, 1, 1, 0, 0", before="mov.f32 %f0, 0f3F800000;").any()
    kept = small(f"{REGISTERS}, %rd2, %rd2, 1, 1, 1, 0, 0", before="mov.f32 %f0, 0f3F800000;")
    assert kept[:, 0].tolist() == [1] * 128
    assert not kept[:, 1:].any()


@pytest.mark.parametrize(
    ("operands", "shape", "part"),
    [
        (
            "{%f0, %f1}, %rd2, %rd2, %p0, 1, 1, 0, 0",
            None,
            "expected 4 registers for d of .f32 in .m64n8k16, not 2",
        ),
        (f"{REGISTERS}, %rd2, %rd2, %p0, 1, 2, 0, 0", None, "the sign of B is -1 or 1, not 2"),
        (f"{REGISTERS}, %rd2, %rd2, %p0, 1, 1, 0, 2", None, "the order of B is 0 or 1, not 2"),
        (f"{REGISTERS}, %rd2, %rd2, %p0, 1, 1", None, "takes 8 operands, not 6"),
        (f"{REGISTERS}, {{%r0, %r1}}, %rd2, %p0, 1, 1, 0", None, "expected 4 registers for a of .f16"),
        (f"{REGISTERS}, %r2, %rd2, %p0, 1, 1, 0, 0", None, "expected an operand of 64 bits, but %r2 is .b32"),
        (f"{REGISTERS}, %rd2, %rd2, %p0, 1, 1, 0, 0", "m64n8k8.f32.tf32.tf32", "takes 6 operands, not 8"),
        (f"{REGISTERS}, %rd2, %rd2, %p0", "m64n12k16.f32.f16.f16", "m64n12k16"),
        (f"{REGISTERS}, %rd2, %rd2, %p0", "m64n8k256.s32.b1.b1.xor.popc", "xor"),
    ],
)
def test_what_is_no_multiply_is_refused_before_anything_runs(operands, shape, part):
    with pytest.raises(PtxError) as error:
        small(operands, shape or "m64n8k16.f32.f16.f16")
    assert part in str(error.value)


@pytest.mark.parametrize(
    ("before", "threads", "part"),
    [
        ("mov.b64 %rd2, 0x7c;", 128, "A reaches byte 2111 of shared memory, which has 2048 bytes"),
        (
            "mov.b64 %rd2, 0x4000004000000080;",
            128,
            "A reaches byte 10239 of shared memory, which has 2048 bytes: "
            "descriptor with start 0x800, leading 0, stride 1024, base offset 0, swizzle of 128 bytes",
        ),
        ("cvt.u64.u32 %rd2, %r0;", 128, "the descriptor of A differs from the first thread's"),
        ("setp.lt.u32 %p1, %r0, 32; @%p1 bra END;", 128, "a warpgroup whose threads have diverged: all 128"),
        ("", 96, "in a warpgroup whose threads have diverged: all 128 must execute it together"),
    ],
)
def test_what_a_chip_does_not_define_is_a_fault(before, threads, part):
    with pytest.raises(KernelFault) as error:
        small(
            f"{REGISTERS}, %rd2, %rd2, %p0, 1, 1, 0, 0;\nEND: mov.u32 %r9, 0", before=before, threads=threads
        )
    assert part in str(error.value)


def test_a_descriptor_is_read_as_its_bits_say():
    bits = 0x123 | 0x45 << 16 | 0x67 << 32 | 5 << 49 | 1 << 62
    assert MatrixDescriptor.from_bits(bits) == (0x1230, 0x450, 0x670, 5, 128)


def test_a_swizzle_works_on_addresses_not_on_offsets():
    """By hand: row 3 of a tile that begins at byte 2048 + 128, k from byte 16 on."""
    found = MatrixDescriptor(2048 + 128, 0, 1024, 0, 128).chunks(64, False)
    assert found[3, 1] == 2048 + 4 * 128 + (16 ^ 4 << 4)
    assert MatrixDescriptor(2048 + 128, 0, 1024, 1, 128).chunks(64, False)[3, 1] == 2048 + 4 * 128 + (
        16 ^ 3 << 4
    )
