"""The clock cycles that programs take on each core: a contract, kept in ``bench/data/cycles.json``.

    python -m bench.cycles [CORE ...]

simulates the programs and writes the file anew, for all cores or the named ones. Commit the file with the
change that moved a number: `tests/sim/test_sim_cycles.py` fails where one moves by more than 1 % without it.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

import golden
from bench.core import INSTRUCTION
from bench.measurement import named
from bench.utilisation import FIGURES
from golden.programs.tiles import multiply_tiles
from golden.resolve import resolve_instruction
from hdl.config import PRESETS
from sim.build import build_core
from sim.machines import Backend, open_machine

CYCLES: Final = Path(__file__).parent / "data" / "cycles.json"
"""Cycles by core and program."""

CORES: Final = {
    **PRESETS,
    **{f"tiny, {warps} warps": replace(PRESETS["tiny"], warps=warps) for warps in (2, 4)},
}
"""The registers of `tiny` hold one tile, so another warp alone can load while it multiplies."""

_TILES: Final = 32
_UTILISATION: Final = {"standard": ("multiplies", "gemm", "loads"), "small": ("soc",)}
"""Names of the figures of `bench.utilisation`, by core."""


def recorded() -> dict[str, dict[str, int]]:
    """The content of `CYCLES`."""
    found: dict[str, dict[str, int]] = json.loads(CYCLES.read_text())
    return found


def cycles(core: str) -> dict[str, int]:
    """Simulate the programs of a core, and compare their results with the golden model's.

    Parameters
    ----------
    core : str
        A name in `CORES`.

    Returns
    -------
    dict of str to int
        Clock cycles by program.

    Raises
    ------
    RuntimeError
        If a result differs.
    """
    found = {f"{_TILES} tiles with loads and store": _tile_cycles(core)}
    for name in _UTILISATION.get(core, ()):
        found |= {figure.name: figure.cycles for figure in FIGURES[name]()}
    return found


def _tile_cycles(core: str) -> int:
    """Tiles loaded, multiplied and stored, dealt out to the warps."""
    config = CORES[core]
    instruction = resolve_instruction(INSTRUCTION)
    random = np.random.default_rng(3)
    a, b = (random.standard_normal((_TILES, 16, 16)).astype(np.float16).view(np.uint16) for _ in "ab")
    c = random.standard_normal((_TILES, 16, 16)).astype(np.float32).view(np.uint32)
    build_core(config)
    run = multiply_tiles(
        instruction,
        (a, b, c),
        lambda size: open_machine(Backend.RTL, config, size),
        registers=config.registers,
    )
    if not np.array_equal(run.d, golden.mma(instruction, a, b, c, profile=config.dot_product.profile)):
        raise RuntimeError(f"{core}: the core's results differ from the golden model's")
    return run.execution.counters.cycles


def main() -> None:
    """Measure and write."""
    chosen = named(__doc__, CORES)
    found = recorded() if CYCLES.exists() else {}
    for core in chosen:
        found[core] = cycles(core)
    ordered = {core: found[core] for core in CORES if core in found}
    CYCLES.write_text(json.dumps(ordered, indent=2) + "\n")


if __name__ == "__main__":
    main()
