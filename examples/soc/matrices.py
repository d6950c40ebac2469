"""Matrices for the programs of this folder as a C header: random A and B, and D = A B by golden."""

import sys
from typing import Final

import numpy as np
from numpy.typing import NDArray

import golden

_TILE: Final = 16
_INSTRUCTIONS: Final = {
    "f16": "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
    "s8": "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32",
}
_BITS: Final = {"f16": np.uint16, "s8": np.int8}


def header(kind: str, m: int, n: int, k: int) -> str:
    """The header: sizes, A by rows, B by columns, and the bits of D by rows.

    Parameters
    ----------
    kind : {"f16", "s8"}
    m, n, k : int
        Multiples of 16.
    """
    random = np.random.default_rng(42)
    a: NDArray[np.generic]
    b: NDArray[np.generic]
    if kind == "f16":
        a, b = (random.normal(size=shape).astype(np.float16) for shape in ((m, k), (k, n)))
    else:
        a, b = (random.integers(-128, 128, shape, dtype=np.int8) for shape in ((m, k), (k, n)))
    d = np.zeros((m, n), np.float32 if kind == "f16" else np.int32)
    for row in range(0, m, _TILE):
        for column in range(0, n, _TILE):
            rows, columns = slice(row, row + _TILE), slice(column, column + _TILE)
            for step in range(0, k, _TILE):
                part = slice(step, step + _TILE)
                d[rows, columns] = golden.mma(
                    _INSTRUCTIONS[kind], a[rows, part], b[part, columns], d[rows, columns]
                )
    sizes = zip("MNK", (m, n, k), strict=True)
    lines = ["#include <stdint.h>", *(f"#define {name} {size}" for name, size in sizes)]
    element = "uint16_t" if kind == "f16" else "int8_t"
    for name, type_, values in (
        ("a", element, a.view(_BITS[kind])),
        ("b", element, b.T.copy().view(_BITS[kind])),
        ("expected", "uint32_t", d.view(np.uint32)),
    ):
        text = ", ".join(map(str, values.reshape(-1).tolist()))
        lines.append(f"static const {type_} {name}[] __attribute__((aligned(32))) = {{ {text} }};")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(header(sys.argv[1], *map(int, sys.argv[2:])), end="")
