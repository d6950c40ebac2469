"""`openwmma mma`: a batch of tiles, by `golden.programs.tiles.multiply_tiles`."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from golden.arguments import dtype_of
from golden.programs.tiles import multiply_tiles
from golden.resolve import resolve_instruction
from golden.tables.formats import FORMATS
from openwmma.arguments import load_array
from openwmma.options import Baud, On, Port, RunPreset, Waves, require_folder
from openwmma.report import print_result, progress
from openwmma.target import DEFAULT_BAUD, MachineKind, Target

__all__ = ["mma"]


def mma(
    instruction: Annotated[
        str,
        typer.Argument(metavar="INSTRUCTION", help="PTX without operands: wmma.mma with all its qualifiers."),
    ],
    a: Annotated[Path, typer.Argument(metavar="A.npy", help="Shape (..., m, k).")],
    b: Annotated[Path, typer.Argument(metavar="B.npy", help="Shape (..., k, n).")],
    c: Annotated[Path, typer.Argument(metavar="C.npy", help="Shape (..., m, n).")],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="D.npy", help="The result, shape (..., m, n).")
    ],
    on: On = MachineKind.GOLDEN,
    preset: RunPreset = None,
    waves: Waves = None,
    port: Port = None,
    baud: Baud = DEFAULT_BAUD,
) -> None:
    """Multiply a batch of tiles, D = A B + C: each loaded, multiplied and stored.

    A thousand tiles on the simulated core:

        openwmma mma wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 a.npy b.npy c.npy -o d.npy --on rtl

    Floating point comes and goes as raw bit patterns in unsigned integers (f16: uint16, f32: uint32); float16
    and float32 arrays are taken as well. Leading axes are the batch.
    """
    target = Target(on=on, preset=preset, waves=waves, port=port, baud=baud)
    parsed = resolve_instruction(instruction)
    operands = [
        _raw_bits(load_array(name, path), type_)
        for name, path, type_ in zip(
            "abc", (a, b, c), (parsed.a_type, parsed.b_type, parsed.c_type), strict=True
        )
    ]
    require_folder("--output", output)
    with progress("instructions") as advance, target.prepared() as source:
        result = multiply_tiles(
            parsed,
            operands,
            source.open,
            advance,
            registers=source.config.registers,
            memory_bytes=source.memory_bytes,
        )
    np.save(output, result.d)
    print_result(str(parsed), target, result.execution, source.config)


def _raw_bits(array: NDArray[Any], type: str) -> NDArray[Any]:
    """Floating-point arrays of a format that numpy has, as the bit patterns that they are."""
    raw = dtype_of(FORMATS[type])
    return array.view(raw) if array.dtype.kind == "f" and array.dtype.itemsize == raw.itemsize else array
