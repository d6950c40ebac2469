"""`openwmma mma`: a batch of tiles, by `golden.programs.tiles.multiply_tiles`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from numpy.typing import NDArray

from golden.arguments import dtype_of
from golden.multiply import mma as golden_mma
from golden.programs.tiles import multiply_tiles
from golden.resolve import resolve_instruction, resolve_profile
from golden.tables.formats import FORMATS
from golden.tables.matrix_instructions import MmaInstruction
from golden.tables.profiles import HOPPER, Profile
from openwmma.arguments import load_array
from openwmma.options import Force, with_options
from openwmma.output_files import array_bytes, require_outputs
from openwmma.report import print_result, progress
from openwmma.target import MachineKind, Target
from openwmma.terminal import tell
from openwmma.usage_error import UsageError
from sim.files import write_files


@with_options("trace")
def mma(
    instruction: Annotated[
        str,
        typer.Argument(
            metavar="INSTRUCTION",
            help="PTX without operands: wmma.mma, mma.sync or wgmma.mma_async with all qualifiers.",
        ),
    ],
    a: Annotated[Path, typer.Argument(metavar="A.npy", help="Shape (..., m, k).")],
    b: Annotated[Path, typer.Argument(metavar="B.npy", help="Shape (..., k, n).")],
    c: Annotated[Path, typer.Argument(metavar="C.npy", help="Shape (..., m, n).")],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="D.npy", help="The result, shape (..., m, n).")
    ],
    metadata: Annotated[
        Path | None,
        typer.Option(metavar="E.npy", help="Metadata of a sparse multiply: nibbles, shape (..., m, groups)."),
    ] = None,
    scale_a: Annotated[
        Path | None, typer.Option(metavar="SA.npy", help="Block scales of A, shape (..., m, scales).")
    ] = None,
    scale_b: Annotated[
        Path | None, typer.Option(metavar="SB.npy", help="Block scales of B, shape (..., scales, n).")
    ] = None,
    *,
    target: Target,
    force: Force = False,
) -> None:
    """Multiply a batch of tiles, D = A B + C: each loaded, multiplied and stored.

    A thousand tiles on the simulated core:

        openwmma mma wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 a.npy b.npy c.npy -o d.npy --on rtl

    Floating point comes as values (f16: float16, f32 and tf32: float32) or as raw bit patterns in unsigned
    integers (f16 and bf16: uint16, f32: uint32, e4m3 and e5m2: uint8); D comes as raw bit patterns. Leading
    axes are the batch.

    Of a sparse multiply (mma.sp, wgmma.mma_async.sp) A has the elements that are stored. A core needs --set
    sparse=true for mma.sp; wgmma.mma_async.sp runs on golden and on a GPU. Multiplies of 8, 6 and 4 bits with
    block scales need --profile blackwell, and a core block_scale or mxf4.

    A mma.sync has no loads: its operands are written to the registers. A wgmma.mma_async is multiplied in
    tiles of 16 rows and 8 columns, each as the warp that has it would.
    """
    parsed = resolve_instruction(instruction)
    operands = [load_array(name, path) for name, path in zip("abc", (a, b, c), strict=True)]
    named = {"metadata": metadata, "scale_a": scale_a, "scale_b": scale_b}
    given = {name: path for name, path in named.items() if path is not None}
    require_outputs(
        [(f"--output {output}", output), *target.outputs], (a, b, c, *given.values()), force=force
    )
    side = {name: load_array(f"--{name.replace('_', '-')}", path) for name, path in given.items()}
    scaled = bool(given.keys() - {"metadata"} or parsed.kind)
    has_core = target.on is not MachineKind.GOLDEN or target.preset or target.settings
    if target.gpu is not None or not has_core:
        generation = resolve_profile(target.profile or HOPPER.name, parsed)
        is_fp8 = parsed.a_type in ("e4m3", "e5m2")
        scaled |= isinstance(generation, Profile) and generation.narrow_block is not None and is_fp8
    if target.gpu is not None:
        if scaled:
            raise UsageError(f"{parsed}: expected --on golden, rtl or lockstep, not a GPU")
        _on_gpu(parsed, operands, side.get("metadata"), output, target)
        return
    if has_core and parsed.is_sparse and parsed.mnemonic != "mma.sp":
        raise UsageError(f"{parsed}: expected --on golden without a preset, or --on cuda")
    if (scaled or given or parsed.is_sparse) and not has_core:
        _on_golden(parsed, operands, side, output, target)
        return
    with progress("instructions") as advance, target.prepared() as source:
        resolve_profile(source.config.dot_product.profile, parsed)
        result = multiply_tiles(
            parsed,
            operands,
            source.open,
            advance,
            side=side,
            registers=source.config.registers,
            memory_bytes=source.memory_bytes,
        )
    write_files({output: array_bytes(result.d)})
    print_result(str(parsed), target, result.execution, source.config)


def _on_golden(
    instruction: MmaInstruction,
    operands: Sequence[NDArray[Any]],
    extra: Mapping[str, NDArray[Any]],
    output: Path,
    target: Target,
) -> None:
    """A multiply that no preset executes."""
    given: dict[str, Any] = dict(extra)
    d = golden_mma(instruction, *operands, **given, profile=target.profile or HOPPER.name)
    write_files({output: array_bytes(d.view(dtype_of(FORMATS[instruction.d_type])))})
    tell(f"{instruction}: {d[..., 0, 0].size} tiles on golden")


def _on_gpu(
    instruction: MmaInstruction,
    operands: Sequence[NDArray[Any]],
    metadata: NDArray[Any] | None,
    output: Path,
    target: Target,
) -> None:
    from openwmma.gpu.multiply import multiply_compared  # noqa: PLC0415  an optional package

    lockstep = target.on is MachineKind.LOCKSTEP
    d, name = multiply_compared(
        target.gpu or 0, instruction, operands, metadata, profile=target.profile, lockstep=lockstep
    )
    write_files({output: array_bytes(d)})
    tell(f"{instruction}: {d[..., 0, 0].size} tiles on {name}{', equal to golden' if lockstep else ''}")
