"""The units whose hardware is mutated, and the tests that have to notice it."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from hdl.verilog.modules import convert
from sim.testbench.design import Design

_MUTANTS: Final = 45


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One unit and its tests."""

    name: str
    bench: str
    """Import path of the module with the unit's tests."""
    test: str
    """The pytest function there that simulates the unit."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Those of its parameters beside the fixture."""
    sources: tuple[str, ...]
    """Only cells that these files made are mutated; a path from the root, or its beginning."""
    mutants: int = _MUTANTS
    """How many."""
    programs: str = ""
    """The preset of a whole core, which random programs must pass too."""


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """What a unit's pytest function asks to be simulated."""

    design: Design
    module: str
    """Import path of the module with the cocotb tests."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """What they find in `sim.testbench.parameters.parameters`."""
    cases: tuple[str, ...] = ()
    """Names of the tests to run; none stands for all."""


def simulation_of(unit: Unit) -> Simulation:
    """Find out what a unit's pytest function simulates, without doing so.

    The Verilog says of each cell which line made it. ValueError unless the function simulates exactly one
    design.
    """
    asked: list[Simulation] = []

    def simulate(design: Design, module: str, **options: Any) -> None:
        located = design.converted(partial(convert, sources=True))
        asked.append(Simulation(design=located, module=module, **options))

    function = getattr(import_module(unit.bench), unit.test)
    function(simulate, **unit.arguments)
    if len(asked) != 1:
        raise ValueError(f"{unit.bench}.{unit.test} must simulate one design, not {len(asked)}")
    return asked[0]


def units_named(names: list[str]) -> tuple[Unit, ...]:
    """The units of these names, of which one is the whole core; all of `UNITS` where none is given.

    ValueError for a name that no unit has.
    """
    known = {unit.name: unit for unit in (*UNITS, CORE)}
    for name in names:
        if name not in known:
            raise ValueError(f"unit must be one of {', '.join(known)}, not {name}")
    return tuple(known[name] for name in names) if names else UNITS


def _unit(name: str, row: dict[str, Any]) -> Unit:
    folder, _, module = row["bench"].rpartition(".")
    sources = row.pop("sources", [f"{folder}/{module.removeprefix('test_')}.py"])
    return Unit(
        name=name,
        bench=f"cocotb_tests.{row.pop('bench')}",
        test=row.pop("test", module),
        sources=tuple(f"hdl/{source}" for source in sources),
        mutants=row.pop("mutants", _MUTANTS),
        arguments={key: tuple(value) if isinstance(value, list) else value for key, value in row.items()},
    )


_ROWS: Final = tomllib.loads(Path(__file__).with_name("units.toml").read_text())
UNITS: Final = tuple(_unit(name, row) for name, row in _ROWS.items())
"""Of `units.toml`."""

CORE: Final = Unit(
    name="core",
    bench="regression.mutation.core_benches",
    test="core_benches",
    arguments={"preset": "tiny"},
    sources=("hdl/",),
    mutants=500,
    programs="tiny",
)
"""The whole core with all that connects its units, under random programs; tried when it is named."""
