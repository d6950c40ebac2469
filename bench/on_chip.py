"""How busy preset `large` keeps its dot-product units: from registers, and from on-chip memory.

    python -m bench.on_chip [multiplies] [gemm] [wgmma]

prints a table and writes ``build/bench/on_chip.json``; without names, all of it. Each run is compared with
the golden machine.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import chain, islice, product, zip_longest
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.measurement import named, write_results
from bench.utilisation import MULTIPLY, Figure, busy, operands, print_figures, register_multiplies
from golden.lines import pack
from golden.machine import Counters, Machine
from golden.memory import Memory
from golden.programs.buffers import BASE
from golden.programs.execution import execute
from golden.resolve import resolve_instruction
from golden.tables.commands import Command, Fill, Load, Mma, Store, Wgmma
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction
from hdl.config import PRESETS
from sim.rtl_machine import RtlMachine
from sim.testbench.reference import golden_machine

CONFIG: Final = PRESETS["large"]
SIZE: Final = 256
"""Rows, columns and depth."""

TILES: Final = SIZE // 16
ROWS: Final = 4
COLUMNS: Final = 8
"""Tiles of D that each of eight warps holds in its registers."""

STEPS: Final = TILES // 2
"""Tiles of k that are on chip at once: half of A and B, which together are larger than the memory."""

TILE_BYTES: Final = 512
"""A tile of f16, which lies in one piece, in either memory."""

_BATCH: Final = 4
"""Columns of tiles of which a warp gets the commands in a row."""

_LAG: Final = 2
"""Columns of tiles that a load or store is behind the multiplies that it must wait for."""


def gemm() -> Figure:
    """D = A B of 256 x 256 x 256 in f16: A and B in on-chip memory, D to global memory.

    The host fills the on-chip memory twice, while the core is idle; these cycles do not count.
    """
    random = np.random.default_rng(4)
    a, b = (operands(random, "f16", (SIZE, SIZE)) for _ in "ab")
    results: list[NDArray[np.uint8]] = []
    counters: list[list[Counters]] = []
    for machine in (
        RtlMachine(CONFIG, Memory(TILES * TILES * TILE_BYTES, BASE)),
        golden_machine(CONFIG, Memory(TILES * TILES * TILE_BYTES, BASE)),
    ):
        try:
            counters.append([_half(machine, a, b, half) for half in range(2)])
            results.append(machine.memory.read(BASE, machine.memory.size))
        finally:
            machine.close()
    if not np.array_equal(results[0], results[1]):
        raise RuntimeError("the core's result differs from the golden machine's")
    return busy(
        f"GEMM {SIZE}x{SIZE}x{SIZE} f16 on chip, {CONFIG.warps} warps",
        counters[0][0] + counters[0][1],
        85.0,
        CONFIG,
    )


def multiplies() -> list[Figure]:
    """Independent multiplies of fragments that are in the registers, 64 of each warp."""
    return register_multiplies((MULTIPLY,), CONFIG)


def wgmma() -> list[Figure]:
    """Each warp group multiplies 64 x n by 256 columns of k, again and again; both read the same A and B."""
    return [_wgmma(n, swizzled) for swizzled in (True, False) for n in (64, 128, 256)]


def _wgmma(n: int, swizzled: bool) -> Figure:
    """64 multiplies of each group; rows of 128 bytes with a swizzle, or core matrices one after the other."""
    instruction = resolve_instruction(f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16")
    # Bytes from one step of k to the next, and from one group of eight rows to the next.
    step, leading, stride, mode = (32, 16, 1024, 1) if swizzled else (256, 128, 1024, 0)
    a, b = (
        [place + k * step >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | mode << 62 for k in range(4)]
        for place in (0, 64 * 128)
    )
    commands: list[Command] = [
        Wgmma(instruction, 0, a[turn % 4], b[turn % 4], warp=warp)
        for turn in range(64)
        for warp in range(CONFIG.warps)
    ]
    random = np.random.default_rng(5)
    values = operands(random, "f16", (1, CONFIG.shared_bytes // 2)).view(np.uint8)[0]
    rtl, golden = RtlMachine(CONFIG, Memory(64, BASE)), golden_machine(CONFIG, Memory(64, BASE))
    try:
        for machine in (golden, rtl):
            assert machine.shared is not None
            machine.shared.write(CONFIG.shared_base, values)
            for warp in range(CONFIG.warps):
                machine.execute(Fill(0, CONFIG.registers, 0, warp=warp))
        before = rtl.counters
        for machine in (golden, rtl):
            execute(machine, ((command, "") for command in commands))
        counters = rtl.counters - before
        if not np.array_equal(rtl.inspect_registers(), golden.inspect_registers()):
            raise RuntimeError("the core's registers differ from the golden machine's")
    finally:
        rtl.close()
    rows = "swizzle of 128 bytes" if swizzled else "no swizzle"
    return busy(f"128 {instruction.shape} of f16, {rows}", counters, 90.0 if swizzled else None, CONFIG)


def _half(machine: Machine, a: NDArray[Any], b: NDArray[Any], half: int) -> Counters:
    """Fill the on-chip memory, multiply, and return what the core counted."""
    part = slice(half * SIZE // 2, (half + 1) * SIZE // 2)
    tiles = [
        *(_tile(a[:, part], row, k) for row, k in product(range(TILES), range(STEPS))),
        *(_tile(b[part].T, column, k) for column, k in product(range(TILES), range(STEPS))),
    ]
    assert machine.shared is not None
    machine.shared.write(machine.shared.base, np.concatenate(tiles))
    before = machine.counters
    # The host waits for the answers to what it has written of one warp before it goes on with the next.
    programs = (_batches(_program(warp, half)) for warp in range(CONFIG.warps))
    steps = chain.from_iterable(zip_longest(*programs, fillvalue=()))
    commands = chain.from_iterable(chain.from_iterable(steps))
    execute(machine, ((command, "") for command in commands))
    return machine.counters - before


def _batches(program: Iterator[list[Command]]) -> Iterator[list[list[Command]]]:
    while batch := list(islice(program, _BATCH)):
        yield batch


def _tile(matrix: NDArray[Any], line: int, k: int) -> NDArray[np.uint8]:
    return pack(np.ascontiguousarray(matrix[16 * line : 16 * line + 16, 16 * k : 16 * k + 16]), "f16")


def _program(warp: int, half: int) -> Iterator[list[Command]]:
    """The commands of a warp in one half of k, by the columns of its tiles."""
    multiply = resolve_instruction("wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16")
    shape = multiply.shape
    loads = {
        "a": LoadInstruction(use="a", layout="row", shape=shape, type="f16", space="shared"),
        "b": LoadInstruction(use="b", layout="col", shape=shape, type="f16", space="shared"),
    }
    store = StoreInstruction(layout="row", shape=shape, type="f16", space="global")
    first_row, first_column = ROWS * (warp // 2), COLUMNS * (warp % 2)

    def d(row: int, column: int) -> int:
        return 4 * (COLUMNS * row + column)

    def place(use: str, index: int, k: int) -> int:
        """The register of a tile of A, of which there are two steps, or of B."""
        if use == "a":
            return d(ROWS, 0) + 8 * (ROWS * (k % 2) + index)
        return d(ROWS, 0) + 8 * (2 * ROWS + index)

    def load(use: str, index: int, k: int) -> Command:
        tile = (first_row + index if use == "a" else TILES + first_column + index) * STEPS + k
        return Load(loads[use], place(use, index, k), TILE_BYTES * tile, warp=warp)

    start: list[Command] = [] if half else [Fill(0, d(ROWS, 0), 0, warp=warp)]
    start += [load("a", row, 0) for row in range(ROWS)] + [load("b", column, 0) for column in range(ROWS)]
    for k, column in product(range(STEPS), range(COLUMNS)):
        loads_now: list[Command] = []
        if k == 0 and column < ROWS:
            loads_now.append(load("b", ROWS + column, 0))
        if column % 2 == warp // ROWS and k + 1 < STEPS:
            loads_now.append(load("a", column // 2, k + 1))
        behind = COLUMNS * k + column - _LAG
        if behind >= 0 and behind // COLUMNS + 1 < STEPS:
            loads_now.append(load("b", behind % COLUMNS, behind // COLUMNS + 1))
        multiplies_now = [
            Mma(
                multiply,
                d=d(row, column),
                a=place("a", row, k),
                b=place("b", column, k),
                c=d(row, column),
                warp=warp,
            )
            for row in range(ROWS)
        ]
        # Each warp loads at another moment, because the warps multiply in turns.
        turn = warp % ROWS
        group = [*start, *multiplies_now[:turn], *loads_now, *multiplies_now[turn:]]
        start = []
        if half and k == STEPS - 1 and column >= _LAG:
            group += _stores(store, d, first_row, first_column, column - _LAG, warp)
        yield group
    if half:
        for column in range(COLUMNS - _LAG, COLUMNS):
            yield _stores(store, d, first_row, first_column, column, warp)


def _stores(
    store: StoreInstruction, d: Any, first_row: int, first_column: int, column: int, warp: int
) -> list[Command]:
    return [
        Store(
            store,
            d(row, column),
            BASE + TILE_BYTES * (TILES * (first_row + row) + first_column + column),
            warp=warp,
        )
        for row in range(ROWS)
    ]


def main() -> None:
    """Measure, print, write."""
    known: dict[str, Callable[[], list[Figure]]] = {
        "multiplies": multiplies,
        "gemm": lambda: [gemm()],
        "wgmma": wgmma,
    }
    figures = [figure for name in named(__doc__, known) for figure in known[name]()]
    print_figures("How busy preset large is", figures)
    write_results("on_chip", [asdict(figure) for figure in figures])


if __name__ == "__main__":
    main()
