"""The captured tiles of the H200 as operations of the dot-product unit."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.tables.formats import FORMATS, FloatFormat
from sim.testbench.dot_product_operands import Batch, Mode

__all__ = ["captured_fp8", "captured_tiles", "chained"]

_DATA = Path(__file__).parents[2] / "tests" / "data"
_WINDOWS = {
    "bf16": "m16n16k16_f32_bf16_f32",
    "tf32": "m16n16k8_f32_tf32_f32",
    "f16": "m16n16k16_f16_f16_f16",
    "f16f32": "m16n16k16_f16_f16_f32",
}


def _mode(name: str) -> Mode | None:
    """The mode of SHAPE_DTYPE_ATYPE_CTYPE and modifiers; None for what this unit does not compute."""
    _, d_type, a_type, *rest = name.split("_")
    if a_type == "f64":
        return None
    if a_type == "b1":
        return Mode(a_type="b1", b_type="b1", c_type="s32", d_type="s32", operation=rest[1])
    return Mode(a_type=a_type, b_type=a_type, c_type=rest[0], d_type=d_type, saturate="satfinite" in rest)


def captured_tiles() -> Iterator[tuple[str, list[Batch], NDArray[np.uint32]]]:
    """Every captured wmma of the compact copy: its name, its chain of operations, and the captured D.

    Yields
    ------
    name : str
    blocks : list of Batch
        One operation per element of D and block of k; all but the first take the result of the one before
        as C (and carry zeros there).
    d : ndarray of uint32, shape (elements,)
    """
    for stem in ("float16", "rest", "window"):
        with np.load(_DATA / f"{stem}.npz") as loaded:
            for key in loaded.files:
                name = key.removesuffix("/a")
                if name == key:
                    continue
                short = name.rsplit("/", 1)[-1]
                mode = _mode(_WINDOWS.get(short, short)) if not short.startswith("mma_") else None
                if mode is not None:
                    arrays = [loaded[f"{name}/{part}"] for part in "abcd"]
                    blocks, d = _operations(mode, *arrays)
                    yield name, blocks, d


def captured_fp8() -> Iterator[tuple[str, Batch, NDArray[np.uint32]]]:
    """Every captured wgmma of fp8: its name, one operation per element of D, and the captured D."""
    with np.load(_DATA / "wgmma.npz") as loaded:
        for key in loaded.files:
            name = key.removesuffix("/a")
            types = name.rsplit("/", 1)[-1].split("_")
            if name != key and types[1] in ("e4m3", "e5m2"):
                mode = Mode(a_type=types[1], b_type=types[2], c_type=types[0], d_type=types[0])
                blocks, d = _operations(mode, *(loaded[f"{name}/{part}"] for part in "abcd"))
                yield name, blocks[0], d


def _operations(
    mode: Mode, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any], d: NDArray[Any]
) -> tuple[list[Batch], NDArray[np.uint32]]:
    tiles, rows, k = a.shape
    columns = b.shape[2]
    shape = (tiles, rows, columns, k)
    every_a = np.broadcast_to(a[:, :, None, :], shape).reshape(-1, k)
    every_b = np.broadcast_to(b.transpose(0, 2, 1)[:, None, :, :], shape).reshape(-1, k)
    addend = c.reshape(-1)
    if not isinstance(FORMATS[mode.c_type], FloatFormat):
        addend = addend.astype(np.int64).astype(np.int32)
    block = 4 if mode.a_type == "tf32" else k
    blocks = []
    for start in range(0, k, block):
        here = slice(start, start + block)
        first = addend if start == 0 else np.zeros_like(addend)
        blocks.append(Batch(mode=mode, a=every_a[:, here], b=every_b[:, here], c=first))
    return blocks, d.reshape(-1).astype(np.uint32)


def chained(batch: Batch, c: NDArray[np.uint32]) -> Batch:
    """A later block, with the result of the one before as C."""
    return Batch(mode=batch.mode, a=batch.a, b=batch.b, c=c.astype(batch.c.dtype))
