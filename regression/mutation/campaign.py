"""Mutates a unit, runs its tests, and tries to prove of the survivors that they are no faults."""

import re
from collections.abc import Callable
from pathlib import Path

from regression.mutation.equivalence import is_equivalent
from regression.mutation.mutants import Mutant
from regression.mutation.netlist import mutate
from regression.mutation.records import Record, RecordFile, unit_key
from regression.mutation.simulation import Outcome, run_mutants
from regression.mutation.units import Unit, simulation_of

__all__ = ["try_unit"]


def try_unit(
    unit: Unit,
    records: RecordFile,
    build: Path,
    tell: Callable[[str, int, int], None],
    *,
    count: int | None = None,
    seed: int = 1,
) -> list[Record]:
    """Find out which mutants of a unit its tests notice; what is known already is not done again.

    Parameters
    ----------
    unit : Unit
    records : RecordFile
        Takes every outcome as soon as it is known.
    build : Path
        Takes the netlists.
    tell : callable
        Is told what is being done, how many mutants have an outcome, and how many there are.
    count : int or None
        How many mutants; `unit.mutants` where it is None.
    seed : int
        Of the choice of mutants.

    Returns
    -------
    list of Record
        One for each mutant.
    """
    tell("netlist", 0, count or unit.mutants)
    simulation = simulation_of(unit)
    folder = build / re.sub(r"\W+", "_", unit.name)
    mutated = mutate(simulation.design, unit.sources, count or unit.mutants, seed, folder)
    key = unit_key(mutated.design, simulation)
    total = len(mutated.mutants)
    known = records.of(unit.name, key)
    missing = [number for number in range(1, total + 1) if number not in known]

    def keep(outcome: Outcome) -> None:
        records.add(_record(unit, key, mutated.mutants[outcome.number - 1], outcome))
        tell("tests", len(records.of(unit.name, key)), total)

    if missing:
        tell("tests", len(known), total)
        run_mutants(mutated, simulation, missing, keep)
    for number, record in records.of(unit.name, key).items():
        if record.survived and not record.proof:
            tell("proofs", total, total)
            is_equal = is_equivalent(mutated.mutants[number - 1], mutated.folder)
            records.proven(record, "equal" if is_equal else "none")
    return sorted(records.of(unit.name, key).values(), key=lambda record: record.number)


def _record(unit: Unit, key: str, mutant: Mutant, outcome: Outcome) -> Record:
    return Record(
        unit=unit.name,
        key=key,
        number=outcome.number,
        what=mutant.what,
        source=mutant.sources[0] if mutant.sources else "",
        text=mutant.texts[0] if mutant.sources else "",
        command=mutant.command,
        how=outcome.how,
        killed_by=outcome.killed_by,
        seconds=outcome.seconds,
    )
