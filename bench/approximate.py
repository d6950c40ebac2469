"""Approximate instructions: their errors over the argument, and how fast the golden model computes them.

    python -m bench.approximate

prints three tables and writes ``build/bench/approximate.json``. Errors are in units in the last place of the
exact f32 result, over all f32 numbers of the interval. The exact value is numpy's in f64, whose own error is
below 2**-26 of these units.
"""

import platform
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from bench.measurement import fastest, number_table, write_results
from golden.approximation.instructions import FORMS
from golden.approximation.operations import operation

RATED = 1 << 22
REQUIRED = 20e6
CHUNK = 1 << 20
REPETITIONS = 5

Values = NDArray[np.float64]
REAL: dict[str, Callable[[Values], Values]] = {
    "ex2": np.exp2,
    "rcp": np.reciprocal,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sqrt": np.sqrt,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
}
INTERVALS = {
    "ex2": [
        (2.0**-8, 0.25),
        (0.25, 0.5),
        (0.5, 1.0),
        (1.0, 2.0),
        (2.0, 16.0),
        (-1.0, -(2.0**-8)),
        (-16.0, -1.0),
    ],
    "rcp": [(1.0, 2.0)],
    "rsqrt": [(1.0, 2.0), (2.0, 4.0)],
    "sqrt": [(1.0, 2.0), (2.0, 4.0)],
    "lg2": [
        (0.5, 0.75),
        (0.75, 0.875),
        (0.875, 1.0),
        (1.0, 1.125),
        (1.125, 1.25),
        (1.25, 2.0),
        (2.0, 16.0),
    ],
    "sin": [(2.0**-8, 0.125), (0.125, 1.0), (1.0, 3.0), (3.0, 8.0), (8.0, 1024.0)],
    "cos": [(2.0**-8, 0.125), (0.125, 1.0), (1.0, 3.0), (3.0, 8.0), (8.0, 1024.0)],
    "tanh": [(2.0**-10, 2.0**-8), (2.0**-8, 0.25), (0.25, 1.0), (1.0, 8.0)],
}


@dataclass(frozen=True)
class Error:
    """One line of the first table.

    Parameters
    ----------
    instruction : str
    start, end : float
        The interval, its end (the one of greater magnitude) excluded.
    largest, mean : float
        Largest magnitude and mean of result minus exact value, in units in the last place.
    absolute : float
        Largest magnitude of result minus exact value.
    rounded : float
        Share of results that are correctly rounded.
    """

    instruction: str
    start: float
    end: float
    largest: float
    mean: float
    absolute: float
    rounded: float


def operands(start: float, end: float) -> Iterator[NDArray[np.uint32]]:
    """All f32 bit patterns of an interval, in chunks."""
    first, last = sorted(int(np.float32(bound).view(np.uint32)) for bound in (start, min(end, 3.4028235e38)))
    for chunk in range(first, last, CHUNK):
        yield np.arange(chunk, min(chunk + CHUNK, last), dtype=np.uint32)


def error(function: str, start: float, end: float) -> Error:
    """Errors over one interval."""
    text = f"{function}.approx.f32"
    largest = absolute = total = 0.0
    count = rounded = 0
    for bits in operands(start, end):
        exact = REAL[function](bits.view(np.float32).astype(np.float64))
        result = operation(text)(bits).view(np.float32)
        difference = result - exact
        unit = np.ldexp(1.0, np.frexp(exact)[1] - 24)
        units = np.divide(difference, unit, out=np.zeros_like(unit), where=exact != 0)
        largest = max(largest, float(np.abs(units).max()))
        absolute = max(absolute, float(np.abs(difference).max()))
        total += float(units.sum())
        rounded += int(np.count_nonzero(result == exact.astype(np.float32)))
        count += len(bits)
    return Error(text, start, end, largest, total / count, absolute, rounded / count)


def rate(text: str) -> float:
    """Results per second of processor time, of uniform bit patterns; the best of several runs."""
    form = FORMS[text]
    random = np.random.default_rng(1)
    given = [random.integers(0, 1 << form.bits, RATED, f"u{form.bits // 8}") for _ in range(form.operands)]
    operation(text)(*(operand[:64] for operand in given))
    seconds, _ = fastest(lambda: operation(text)(*given), REPETITIONS)
    return RATED / seconds


def of_values(text: str, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """The results for f32 values."""
    return operation(text)(values.view(np.uint32)).view(np.float32)


def counts() -> dict[str, int]:
    """How often properties of the real functions fail."""
    found = {}
    exponents = np.arange(-126, 0)
    powers = np.ldexp(1.0, exponents).astype(np.float32)
    wrong = np.count_nonzero(of_values("lg2.approx.f32", powers) != exponents)
    found["lg2 of 2**-126 to 2**-1 is not the exponent (126 operands)"] = wrong
    roots = np.arange(1, 4097, dtype=np.float32)
    wrong = np.count_nonzero(of_values("sqrt.approx.f32", roots * roots) != roots)
    found["sqrt of 1 to 4096 squared is not exact (4096 operands)"] = wrong
    significands = np.arange(0x3F800000, 0x40000000, dtype=np.uint32)
    wrong = np.count_nonzero(operation("div.full.f32")(significands, significands) != 0x3F800000)
    found["div.full of x by x is not 1, x in [1, 2) (2**23 operands)"] = wrong
    for function, end, sign in (
        ("ex2", 2.0, 1),
        ("lg2", 2.0, 1),
        ("rcp", 2.0, -1),
        ("rsqrt", 4.0, -1),
        ("sqrt", 4.0, 1),
    ):
        bits = np.concatenate(list(operands(1.0, end)))
        steps = np.diff(operation(f"{function}.approx.f32")(bits).view(np.float32))
        found[f"{function} steps against its direction, x in [1, {end:.0f})"] = np.count_nonzero(
            steps * sign < 0
        )
    bits = np.concatenate(list(operands(2.0**-9, 8.0)))
    steps = np.diff(operation("tanh.approx.f32")(bits).view(np.float32))
    found["tanh steps against its direction, x in [2**-9, 8)"] = np.count_nonzero(steps < 0)
    return {name: int(count) for name, count in found.items()}


def main() -> None:
    """Measure, print, write."""
    errors = [
        error(function, *interval) for function, intervals in INTERVALS.items() for interval in intervals
    ]
    properties = counts()
    rates = {text: rate(text) for text in FORMS}

    columns = ("from", "to", "largest", "mean", "largest absolute", "correctly rounded")
    table = number_table("Errors, in units in the last place", "instruction", *columns)
    for line in errors:
        table.add_row(
            line.instruction,
            f"{line.start:.6g}",
            f"{line.end:.6g}",
            f"{line.largest:.2f}" if line.largest < 1000 else f"{line.largest:.1e}",
            f"{line.mean:+.2f}",
            f"{line.absolute:.2g}",
            f"{line.rounded:.1%}",
        )
    Console().print(table)
    exceptions = number_table("Exceptions", "property", "times")
    for name, count in properties.items():
        exceptions.add_row(name, f"{count:,}")
    Console().print(exceptions)
    speed = number_table("Golden model, one core", "instruction", "million results/s")
    for text, results in rates.items():
        speed.add_row(text, f"{results / 1e6:,.0f}", style=None if results >= REQUIRED else "red")
    Console().print(speed)

    report = {
        "errors": [asdict(line) for line in errors],
        "counts": properties,
        "results_per_second": rates,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    write_results("approximate", report)


if __name__ == "__main__":
    main()
