"""How long `openwmma.matmul` takes, and how much memory.

    python -m bench.matmul

prints a table and writes ``build/bench/matmul.json``. ``OPENWMMA_THREADS`` sets the threads.
"""

import time
from dataclasses import asdict, dataclass

import numpy as np
from rich.console import Console

from bench.golden import peak_megabytes
from bench.measurement import number_table, write_results
from golden.arguments import dtype_of
from golden.arithmetic.engine import thread_count
from golden.tables.formats import FORMATS
from openwmma.matrix_product import matmul

SIZE = 1024
REQUIRED_SIZE = 2048
REQUIRED_SECONDS = 5.0
REQUIRED_MEGABYTES = 1536
CASES = (*((type_, SIZE) for type_ in ("f16", "bf16", "tf32", "e4m3", "s8")), ("bf16", REQUIRED_SIZE))


@dataclass(frozen=True)
class Product:
    """One line of the table.

    Parameters
    ----------
    type : str
    size : int
        Rows, columns and depth.
    seconds : float
        Wall time.
    processor_seconds : float
        Of all threads together.
    giga_multiply_adds : float
        A second.
    """

    type: str
    size: int
    seconds: float
    processor_seconds: float
    giga_multiply_adds: float


def measure(type_: str, size: int) -> Product:
    """Time one product of random finite numbers."""
    random = np.random.default_rng(1)
    dtype = dtype_of(FORMATS[type_])
    largest = np.iinfo(dtype).max // 2
    a, b = (random.integers(0, largest, (size, size)).astype(dtype) for _ in "ab")
    matmul(a[:32], b[:, :32], a_type=type_, b_type=type_)
    start, processor_start = time.perf_counter(), time.process_time()
    matmul(a, b, a_type=type_, b_type=type_)
    seconds, processor_seconds = time.perf_counter() - start, time.process_time() - processor_start
    return Product(type_, size, seconds, processor_seconds, size**3 / seconds / 1e9)


def main() -> None:
    """Measure, print, write."""
    products = [measure(*case) for case in CASES]
    columns = "size", "seconds", "of processors", "10^9/s"
    table = number_table(f"openwmma.matmul, {thread_count()} threads", "type", *columns)
    for product in products:
        slow = product.size == REQUIRED_SIZE and product.seconds > REQUIRED_SECONDS
        table.add_row(
            product.type,
            str(product.size),
            f"{product.seconds:.2f}",
            f"{product.processor_seconds:.2f}",
            f"{product.giga_multiply_adds:.2f}",
            style="red" if slow else None,
        )
    memory = peak_megabytes()
    table.add_section()
    style = None if memory < REQUIRED_MEGABYTES else "red"
    table.add_row("memory", "", f"{memory:.0f} MB", "", f"< {REQUIRED_MEGABYTES} MB", style=style)
    Console().print(table)
    write_results(
        "matmul",
        {
            "products": [asdict(item) for item in products],
            "threads": thread_count(),
            "peak_megabytes": memory,
        },
    )


if __name__ == "__main__":
    main()
