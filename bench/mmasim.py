"""Golden beside MMA-Sim, an independent model: tiles a second of each small format, on one core.

    python -m bench.mmasim

MMA-Sim is timed one tile a call and, by its function for dot products, many tiles a call; golden in a batch.
Both get the same random bits, and their results must be equal. Prints a table and writes
``build/bench/mmasim.json``. Needs the extra mmasim, which `make test-mmasim` installs.
"""

import importlib
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import golden
from bench.golden import random_operands
from bench.measurement import fastest, number_table, write_results
from golden.resolve import resolve_instruction
from golden.tables.matrix_instructions import MmaInstruction

TILES = 8_000
TOGETHER = 64
"""Tiles of one call of MMA-Sim's dot products."""

CALLS = 10
REPETITIONS = 5
SMALL: Final = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")


def forms() -> Iterator[tuple[str, str, str]]:
    """Of each form its key, the text of MMA-Sim, and the PTX instruction behind ``mma.sync.aligned``."""
    for d, a, b in product(("f32", "f16"), SMALL, SMALL):
        head, types = "m16n8k32.row.col.kind::f8f6f4", f"{d}.{a}.{b}.{d}"
        yield f"{d}.{a}.{b}", f"m16n8k32.kind::f8f6f4.{types}", f"{head}.{types}"
    for a, b in product(SMALL, SMALL):
        head, types = "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X", f"f32.{a}.{b}.f32.ue8m0"
        yield f"1X.{a}.{b}", f"m16n8k32.kind::mxf8f6f4.block32.{types}", f"{head}.{types}"
    for kind, vec, scale in (
        ("mxf4", "2X", "ue8m0"),
        ("mxf4nvf4", "2X", "ue8m0"),
        ("mxf4nvf4", "4X", "ue8m0"),
        ("mxf4nvf4", "4X", "ue4m3"),
    ):
        block = {"2X": 32, "4X": 16}[vec]
        types = f"f32.e2m1.e2m1.f32.{scale}"
        head = f"m16n8k64.row.col.kind::{kind}.block_scale.scale_vec::{vec}"
        yield f"{kind}.{vec}.{scale}", f"m16n8k64.kind::{kind}.block{block}.{types}", f"{head}.{types}"


def simulator(text: str) -> Any:
    """MMA-Sim's model of a form."""
    models = importlib.import_module("mmasim.nv_ptx")
    return (models.MMABlockScale if ".block" in text else models.MMA)("RTX Blackwell", text)


def tensors(simulated: Any, arrays: Sequence[NDArray[Any]]) -> list[Any]:
    """What a model takes: k is the last axis of a, b and the scales."""
    torch = importlib.import_module("torch")
    a, b, c, *scales = arrays
    if scales and simulated.packing == 2:
        a, b = (x[..., ::2] << 4 | x[..., 1::2] for x in (a, b))
    else:  # e2m1 stands in bits 5 to 2
        a, b = (
            x << 2 if type == "e2m1" else x
            for x, type in ((a, simulated.a_type_ptx), (b, simulated.b_type_ptx))
        )
    types = simulated.a_type, simulated.b_type, simulated.c_type, *[getattr(simulated, "s_type", None)] * 2
    signed = {np.dtype(np.uint16): np.int16, np.dtype(np.uint32): np.int32}
    return [
        torch.from_numpy(np.ascontiguousarray(x).view(signed.get(x.dtype, x.dtype))).view(type)
        for x, type in zip((a, b, c, *scales), types, strict=False)
    ]


def simulations(text: str, operands: list[NDArray[Any]]) -> tuple[float, float, NDArray[Any]]:
    """Tiles a second of MMA-Sim, one by one and together, and the results of the first ones as bytes."""
    torch = importlib.import_module("torch")
    model = simulator(text)
    a, b, c, *scales = operands
    b, of_columns = b.swapaxes(1, 2), [x.swapaxes(1, 2) for x in scales[1:]]
    a, b, c, *scales = tensors(model, (a, b, c, *scales[:1], *of_columns))
    columns = [b.mT, *(x.mT for x in scales[1:])]

    def one_by_one() -> None:
        for tile in range(CALLS):
            model(a[tile], columns[0][tile], c[tile], *(x[tile] for x in (*scales[:1], *columns[1:])))

    m, n = c.shape[1:]
    pairs = [
        x[:, :, None].expand(-1, -1, n, -1) if is_row else x[:, None].expand(-1, m, -1, -1)
        for x, is_row in zip((a, b, *scales), (True, False) * 2, strict=False)
    ]
    single, _ = fastest(one_by_one, REPETITIONS)
    batch, found = fastest(lambda: model.dpa(*pairs[:2], c, *pairs[2:]), REPETITIONS)
    return CALLS / single, len(c) / batch, found.contiguous().view(torch.uint8).numpy()


def golden_rate(
    instruction: MmaInstruction, operands: list[NDArray[Any]], named: dict[str, Any]
) -> tuple[float, NDArray[Any]]:
    """Tiles a second of golden, and its results."""
    golden.mma(instruction, *operands, threads=1, **named)
    seconds, found = fastest(lambda: golden.mma(instruction, *operands, threads=1, **named), REPETITIONS)
    return TILES / seconds, found


def main() -> None:
    """Measure, print, write."""
    importlib.import_module("torch").set_num_threads(1)
    titles = ("golden", "MMA-Sim, one tile a call", "ratio", f"{TOGETHER} tiles a call", "ratio")
    table = number_table("Tiles a second, one core", "form", *titles)
    report = {}
    for key, text, ptx in forms():
        instruction = resolve_instruction(f"mma.sync.aligned.{ptx}")
        operands, named = random_operands(instruction, TILES, np.random.default_rng(1))
        rate, found = golden_rate(instruction, operands, named)
        scales = [named[name] for name in ("scale_a", "scale_b") if name in named]
        single, batch, expected = simulations(text, [x[:TOGETHER] for x in (*operands, *scales)])
        if found[:TOGETHER].tobytes() != expected.tobytes():
            sys.exit(f"{key}: golden's results differ from MMA-Sim's")
        report[key] = {"golden": rate, "one_by_one": single, "together": batch}
        table.add_row(key, *(f"{x:,.0f}" for x in (rate, single, rate / single, batch, rate / batch)))
    Console().print(table)
    write_results("mmasim", report)


if __name__ == "__main__":
    main()
