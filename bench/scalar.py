"""How many lanes of scalar instructions the golden model evaluates per second, on one core.

    python -m bench.scalar

prints a table and writes ``build/bench/scalar.json``.
"""

import platform
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bench.measurement import fastest, write_results
from golden.scalar import operation

LANES: Final = (32, 256, 1024)
CALLS = 200
REPETITIONS = 5

INSTRUCTIONS: Final = (
    *("add.s32", "mad.lo.s32", "mul.wide.s32", "mul.hi.u32", "div.s32", "shl.b32", "and.b32", "lop3.b32"),
    *("prmt.b32", "bfe.u32", "popc.b32", "shf.l.wrap.b32", "dp4a.s32.s32", "setp.lt.s32", "selp.b32"),
    *("add.f32", "mul.f32", "fma.rn.f32", "fma.rn.ftz.f32", "fma.rz.f32", "div.rn.f32", "sqrt.rn.f32"),
    *("max.f32", "add.f64", "fma.rn.f64", "fma.rz.f64", "add.f16x2", "fma.rn.f16x2", "fma.rn.bf16x2"),
    *("cvt.s64.s32", "cvt.rn.f32.s32", "cvt.rzi.s32.f32", "cvt.rn.f16.f32", "cvt.rn.bf16x2.f32"),
)
"""What compilers emit around matrix code."""


@dataclass(frozen=True)
class Rate:
    """One instruction on arrays of one size.

    Parameters
    ----------
    instruction : str
    lanes : int
        Elements of each operand.
    microseconds : float
        Processor time of one call.
    million_lanes_per_second : float
    """

    instruction: str
    lanes: int
    microseconds: float
    million_lanes_per_second: float


def operand(bits: int, floats: bool, lanes: int, random: np.random.Generator) -> NDArray[Any]:
    """Normally distributed floats, or any bits; the 8-bit table of lop3 is one number."""
    if bits == 1:
        return random.integers(0, 2, lanes).astype(np.bool_)
    if bits == 8:
        return np.array([0x96], np.uint8)
    if floats:
        return random.standard_normal(lanes).astype(f"f{bits // 8}").view(f"u{bits // 8}")
    return random.integers(0, 1 << bits, lanes, np.uint64).astype(f"u{bits // 8}")


def measure(name: str, lanes: int) -> Rate:
    """The best of several runs, in processor time."""
    random = np.random.default_rng(21)
    found = operation(name)
    # Packed halves take any bits.
    floats = name.rsplit(".", 1)[1] in ("f16", "f32", "f64")
    operands = [operand(bits, floats, lanes, random) for bits in found.operands]

    def work() -> None:
        for _ in range(CALLS):
            found.evaluate(*operands)

    seconds = fastest(work, REPETITIONS)[0] / CALLS
    return Rate(name, lanes, round(seconds * 1e6, 2), round(lanes / seconds / 1e6, 1))


def main() -> None:
    """Measure everything, print it and write it."""
    rates = [[measure(name, lanes) for lanes in LANES] for name in INSTRUCTIONS]
    table = Table("instruction", *(f"{lanes} lanes" for lanes in LANES), title="million lanes per second")
    for row in rates:
        table.add_row(row[0].instruction, *(f"{rate.million_lanes_per_second:.1f}" for rate in row))
    Console().print(table)
    results = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "rates": [asdict(rate) for row in rates for rate in row],
    }
    write_results("scalar", results)


if __name__ == "__main__":
    main()
