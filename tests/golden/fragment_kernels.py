"""Kernels of one multiply, whose warps load and store fragments register by register."""

from golden.simt import Module
from golden.tables.layouts import LANES


def fragment_kernel(*arguments, **options):
    """The kernel of `fragment_source`."""
    return Module(fragment_source(*arguments, **options), "fragments.ptx").kernel()


def fragment_source(instruction, tail, extra="e", mnemonic=None, prologue=""):
    """Each warp multiplies the registers that it loads: d, a, b, c and those in `extra` are parameters.

    `tail` are the operands behind the fragments; ``%e0`` is the register loaded from e.
    """
    counts = {use: layout.registers for use, layout in instruction.fragments.items()} | dict.fromkeys(
        extra, 1
    )
    floats = instruction.d_type == "f32"
    parameters = ", ".join(f".param .u64 {use}" for use in f"dabc{extra}")
    lines = [
        ".version 9.1 .target sm_120a .address_size 64",
        f".visible .entry k({parameters}) {{",
        ".reg .b32 %r<8>; .reg .b64 %x<4>;",
        "mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 31; shr.u32 %r2, %r0, 5;",
    ]
    operands = {}
    for use, count in counts.items():
        kind = "f32" if floats and use in "cd" else "b32"
        names = [f"%{use}{i}" for i in range(count)]
        operands[use] = f"{{{', '.join(names)}}}"
        lines += [
            f".reg .{kind} %{use}<{count}>; .reg .b64 %p{use}; ld.param.u64 %x0, [{use}];",
            f"mad.lo.u32 %r3, %r2, {count * LANES}, %r1; mul.wide.u32 %x1, %r3, 4;",
            f"add.u64 %p{use}, %x0, %x1;",
        ]
        if use != "d":
            places = ((name, f"[%p{use}+{i * 4 * LANES}]") for i, name in enumerate(names))
            lines += [f"ld.global.{kind} {name}, {place};" for name, place in places]
    fragments = ", ".join(operands[use] for use in "dabc")
    text = str(instruction)
    if mnemonic:
        text = text.replace("mma.sp::ordered_metadata", mnemonic)
    lines += [
        prologue,
        f"{text} {fragments}, {tail};",
        *(f"st.global.b32 [%pd+{i * 4 * LANES}], %d{i};" for i in range(counts["d"])),
        "ret; }",
    ]
    return "\n".join(lines)
