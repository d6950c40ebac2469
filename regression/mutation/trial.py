"""Mutates a unit, runs its tests, and tries to prove of the survivors that they are no faults."""

import re
from dataclasses import replace
from pathlib import Path

from regression.mutation.equivalence import is_equivalent
from regression.mutation.mutants import Mutant
from regression.mutation.netlist import mutate
from regression.mutation.records import Record
from regression.mutation.rules import rules_of
from regression.mutation.simulation import Outcome, run_mutants
from regression.mutation.units import Unit, simulation_of
from sim.files import locked

__all__ = ["try_unit"]


def try_unit(unit: Unit, build: Path, *, count: int, seed: int) -> list[Record]:
    """Find out which mutants of a unit its tests notice.

    Parameters
    ----------
    unit : Unit
    build : Path
        Takes the netlists.
    count : int
        How many mutants.
    seed : int
        Of the choice of mutants.

    Returns
    -------
    list of Record
        One for each mutant.

    Raises
    ------
    BenchFailure
        If the unit fails without a fault.
    """
    name = re.sub(r"\W+", "_", unit.name)
    folder = build / f"{name}-{count}-{seed}"
    build.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_suffix(".lock")):
        simulation = simulation_of(unit)
        mutated = mutate(simulation.design, unit.sources, count, seed, folder)
        records = [
            _record(unit, mutated.mutants[outcome.number - 1], outcome)
            for outcome in run_mutants(mutated, simulation)
        ]
        for index, record in enumerate(records):
            if record.survived:
                is_equal = is_equivalent(mutated.mutants[record.number - 1], folder, rules_of(unit.name))
                records[index] = replace(record, proof="equal" if is_equal else "none")
    return records


def _record(unit: Unit, mutant: Mutant, outcome: Outcome) -> Record:
    return Record(
        unit=unit.name,
        number=outcome.number,
        what=mutant.what,
        source=mutant.sources[0] if mutant.sources else "",
        text=mutant.texts[0] if mutant.sources else "",
        command=mutant.command,
        how=outcome.how,
        killed_by=outcome.killed_by,
    )
