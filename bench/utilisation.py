"""How busy the core keeps its dot-product units and its bus.

    python -m bench.utilisation [multiplies] [gemm] [loads] [soc]

prints a table and writes ``build/bench/utilisation.json``; without names, all of it. Preset `standard`
(`small` for `soc`), a memory of 128 bits with 20 cycles of latency. Every run is compared with the golden
machine.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import product as pairs
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from bench.measurement import named, number_table, write_results
from golden.arguments import dtype_of
from golden.machine import Counters
from golden.memory import Memory
from golden.programs.execution import execute
from golden.programs.gemm import Gemm, multiply_matrices
from golden.resolve import resolve_instruction
from golden.tables.commands import Command, Fill, Load, Mma, Store
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import LAYOUTS, Layout, Use
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction, warp_tile
from hdl.config import PRESETS, CoreConfig
from sim.machines import Backend, open_machine
from sim.rtl_machine import RtlMachine
from sim.simulation import BusTiming
from sim.testbench.reference import golden_machine

CONFIG: Final = PRESETS["standard"]
TIMING: Final = BusTiming(latency=20)
MULTIPLY: Final = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
MMA_SYNC: Final = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
WGMMA_FP8: Final = "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3"
MMA_FP8: Final = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
GEMMS: Final = {
    "f16": (MULTIPLY, 85.0),
    "bf16": ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32", None),
    "tf32": ("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", None),
    "s8": ("wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32", None),
}
"""Instruction of each matrix multiply, and the share in per cent that it must reach."""

SIZE: Final = 128
"""Rows, columns and depth of the matrix multiplies."""

_STALLS: Final = ("stall_registers", "stall_memory", "stall_unit", "queue_empty_cycles", "bank_conflicts")

_FRAGMENT = 8
"""Registers of a fragment of m16n16k16 with f16 multiplicands and f32 accumulators; m16n8k16 has its
registers in the same places."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line of a table.

    Parameters
    ----------
    name : str
    value : float
    unit : str
    required : float or None
        The least that `value` must be; None where it is reported alone.
    cycles : int
        Clock cycles with a command in progress.
    counters : dict
        What the core counted in them.
    """

    name: str
    value: float
    unit: str
    required: float | None
    cycles: int
    counters: dict[str, int]

    @property
    def is_reached(self) -> bool:
        """Whether nothing more is required."""
        return self.required is None or self.value >= self.required


def multiplies(texts: Sequence[str] = (MULTIPLY, MMA_SYNC, WGMMA_FP8, MMA_FP8)) -> list[Figure]:
    """Dot-product units in 64 independent multiplies of fragments that are in the registers.

    Of a `wgmma` they are tiles of one warp. A result of `mma` with fp8 takes two dot products, and the second
    waits a cycle for the first.
    """
    return register_multiplies(texts, CONFIG)


def register_multiplies(texts: Sequence[str], config: CoreConfig) -> list[Figure]:
    """The same on any core, 64 of each warp."""
    return [
        _multiplies(warp_tile(resolve_instruction(text)), 90.0 if text == MMA_FP8 else 95.0, config)
        for text in texts
    ]


def _multiplies(instruction: MmaInstruction, required: float, config: CoreConfig) -> Figure:
    random = np.random.default_rng(1)
    half = random.standard_normal((4 * _FRAGMENT, 32, 2)).astype(np.float16).view(np.uint32)[..., 0]
    single = random.standard_normal((_FRAGMENT, 32)).astype(np.float32).view(np.uint32)
    registers = np.concatenate((half, single))
    slots = range(len(registers), config.registers - _FRAGMENT + 1, _FRAGMENT)
    commands: list[Command] = [
        Mma(
            instruction,
            d=slots[index % len(slots)],
            a=_FRAGMENT * (index % 2),
            b=_FRAGMENT * (2 + index // 2 % 2),
            c=4 * _FRAGMENT,
            warp=warp,
        )
        for index in range(64)
        for warp in range(config.warps)
    ]
    counters = _counted(commands, config, registers=registers)
    mnemonic = "" if instruction.mnemonic == "wmma" else f"{instruction.mnemonic} "
    return busy(
        f"64 {mnemonic}{instruction.shape} of {instruction.a_type} in registers", counters, required, config
    )


def gemm(types: Sequence[str] = tuple(GEMMS)) -> list[Figure]:
    """Dot-product units in whole matrix multiplies, from global memory and back to it."""
    figures = []
    for name in types:
        text, required = GEMMS[name]
        instruction = resolve_instruction(text)
        random = np.random.default_rng(2)
        a, b = (operands(random, instruction.a_type, (SIZE, SIZE)) for _ in "ab")
        product = Gemm(instruction=instruction, m=SIZE, n=SIZE, k=SIZE, registers=CONFIG.registers)
        found = multiply_matrices(
            product, a, b, lambda size: RtlMachine(CONFIG, Memory(size, 0x1000), timing=TIMING)
        )
        expected = multiply_matrices(product, a, b, lambda size: open_machine(Backend.GOLDEN, CONFIG, size))
        if not np.array_equal(found.d, expected.d):
            raise RuntimeError(f"GEMM in {name}: the core's result differs from the golden machine's")
        figures.append(busy(f"GEMM {SIZE}x{SIZE}x{SIZE} {name}", found.execution.counters, required, CONFIG))
    return figures


def loads(layouts: Sequence[Layout] = LAYOUTS) -> list[Figure]:
    """The bus in a stream of loads of 16x16 tiles of f16."""
    count = 256
    shape = resolve_instruction(MULTIPLY).shape
    figures = []
    for layout in layouts:
        load = LoadInstruction(use="a", layout=layout, shape=shape, type="f16", space="global")
        slots = CONFIG.registers // _FRAGMENT
        commands: list[Command] = [
            Load(load, _FRAGMENT * (index % slots), 0x1000 + 512 * index) for index in range(count)
        ]
        counters = _counted(commands, CONFIG, memory_size=512 * count)
        figures.append(
            Figure(
                name=f"loads of 16x16 f16, {layout}: bus busy",
                value=100 * counters.read_beats / counters.cycles,
                unit="%",
                required=85.0,
                cycles=counters.cycles,
                counters=asdict(counters),
            )
        )
    return figures


def soc() -> list[Figure]:
    """The commands of ``examples/soc/matmul_f16.c``, which does without a second set of registers."""
    config, shape = PRESETS["small"], resolve_instruction(MULTIPLY).shape
    places = [0x1000 + part * 2 * SIZE * SIZE for part in range(3)]

    def fragment(use: Use, register: int, row: int, column: int) -> Load:
        layout: Layout = "row" if use == "a" else "col"
        load = LoadInstruction(use=use, layout=layout, shape=shape, type="f16", space="global")
        return Load(load, register, places["ab".index(use)] + 2 * (row * SIZE + column), SIZE)

    store = StoreInstruction(layout="row", shape=shape, type="f32", space="global")
    commands: list[Command] = []
    for row, column in pairs(range(0, SIZE, 32), repeat=2):
        commands.append(Fill(0, 4 * _FRAGMENT, 0))
        for step in range(0, SIZE, 16):
            for half in range(2):
                commands.append(fragment("a", (4 + half) * _FRAGMENT, row + 16 * half, step))
                commands.append(fragment("b", (6 + half) * _FRAGMENT, column + 16 * half, step))
            for tile in range(4):
                d, a, b = (_FRAGMENT * place for place in (tile, 4 + tile // 2, 6 + tile % 2))
                commands.append(Mma(resolve_instruction(MULTIPLY), d, a, b, d))
        for tile in range(4):
            place = places[2] + 4 * ((row + tile // 2 * 16) * SIZE + column + tile % 2 * 16)
            commands.append(Store(store, tile * _FRAGMENT, place, SIZE))
    counters = _counted(commands, config, memory_size=8 * SIZE * SIZE)
    return [busy(f"GEMM {SIZE}x{SIZE}x{SIZE} f16 of examples/soc", counters, None, config)]


def operands(random: np.random.Generator, type: str, shape: tuple[int, int]) -> NDArray[np.generic]:
    """A matrix of moderate random numbers, as `golden.mma` takes it.

    Parameters
    ----------
    random : Generator
    type : str
        Of a multiplicand.
    shape : tuple of int
    """
    element = FORMATS[type]
    if type == "f16":
        return random.standard_normal(shape).astype(np.float16).view(np.uint16)
    if type in ("bf16", "tf32"):
        patterns = random.standard_normal(shape).astype(np.float32).view(np.uint32)
        return (patterns >> (32 - element.bits)).astype(dtype_of(element))
    return random.integers(-128, 128, shape).astype(dtype_of(element))


def _counted(
    commands: Sequence[Command],
    config: CoreConfig,
    *,
    registers: NDArray[np.uint32] | None = None,
    memory_size: int = 4096,
) -> Counters:
    """Run on the core and on the golden machine, compare, and return what the core counted."""
    content = np.random.default_rng(3).integers(0, 256, memory_size, dtype=np.uint8)
    rtl = RtlMachine(config, Memory(memory_size, 0x1000), timing=TIMING)
    golden = golden_machine(config, Memory(memory_size, 0x1000))
    try:
        for machine in (golden, rtl):
            machine.memory.data[:] = content
            # The first command is no part of the measurement; it makes the registers of both machines equal.
            for warp in range(config.warps):
                machine.execute(Fill(0, config.registers, 0, warp=warp))
                if registers is not None:
                    machine.write_registers(0, registers, warp=warp)
        before = rtl.counters
        execute(golden, ((command, "") for command in commands))
        after = execute(rtl, ((command, "") for command in commands)).counters
        if not np.array_equal(rtl.inspect_registers(), golden.inspect_registers()):
            raise RuntimeError("the core's registers differ from the golden machine's")
        if not np.array_equal(rtl.memory.data, golden.memory.data):
            raise RuntimeError("the core's memory differs from the golden machine's")
    finally:
        rtl.close()
    start = asdict(before)
    return Counters(**{name: value - start[name] for name, value in asdict(after).items()})


def busy(name: str, counters: Counters, required: float | None, config: CoreConfig) -> Figure:
    """The share of its cycles in which the dot-product units of a core took operands.

    Parameters
    ----------
    name : str
        Of the program.
    counters : Counters
    required : float or None
    config : CoreConfig
    """
    return Figure(
        name=f"{name}: units busy",
        value=100 * counters.dot_product_cycles / (counters.cycles * config.dot_product_units),
        unit="%",
        required=required,
        cycles=counters.cycles,
        counters=asdict(counters),
    )


def print_figures(title: str, figures: Sequence[Figure]) -> None:
    """Print a table in which what is missed is red.

    The last column is the share of the cycles in which the next command waited for registers, memory or its
    unit, the core for the host, and `wgmma` for a bank of on-chip memory; summed over the warps.
    """
    table = number_table(title, "figure", "measured", "required", "cycles", "stalls r/m/u/h/b")
    for figure in figures:
        stalls = (figure.counters[name] / figure.cycles for name in _STALLS)
        table.add_row(
            figure.name,
            f"{figure.value:,.1f} {figure.unit}",
            "" if figure.required is None else f"{figure.required:,.0f} {figure.unit}",
            f"{figure.cycles:,}",
            "/".join(f"{share:.0%}" for share in stalls),
            style=None if figure.is_reached else "red",
        )
    Console().print(table)


FIGURES: Final[dict[str, Callable[[], list[Figure]]]] = {
    "multiplies": multiplies,
    "gemm": gemm,
    "loads": loads,
    "soc": soc,
}
"""What can be measured alone, by name."""


def main() -> None:
    """Measure, print, write."""
    figures = [figure for name in named(__doc__, FIGURES) for figure in FIGURES[name]()]
    print_figures("How busy the core is: memory of 128 bits, 20 cycles", figures)
    write_results("utilisation", [asdict(figure) for figure in figures])


if __name__ == "__main__":
    main()
