"""Mutates a unit, runs its tests, and tries to prove of the survivors that they are no faults."""

import re
from dataclasses import asdict
from pathlib import Path

from regression.mutation.equivalence import is_equivalent, require_rules
from regression.mutation.netlist import mutate
from regression.mutation.records import Proof, Record
from regression.mutation.rules import rules_of
from regression.mutation.simulation import run_mutants
from regression.mutation.units import Unit, simulation_of
from sim.files import locked


def try_unit(unit: Unit, build: Path, *, count: int, seed: int) -> list[Record]:
    """Find out which of `count` mutants of a unit, which the seed chooses, its tests notice.

    The folder `build` takes the netlists. BenchFailure if the unit fails without a fault, and ValueError if a
    rule does not hold of it then.
    """
    name = re.sub(r"\W+", "_", unit.name)
    folder = build / f"{name}-{count}-{seed}"
    build.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_suffix(".lock")):
        simulation = simulation_of(unit)
        mutated = mutate(simulation.design, unit.sources, count, seed, folder)
        records = []
        rules = rules_of(unit.name)
        outcomes = run_mutants(mutated, simulation)
        if any(how == "survived" for how, _ in outcomes.values()):
            require_rules(folder, rules)
        for number, (how, killed_by) in outcomes.items():
            mutant = mutated.mutants[number - 1]
            proof: Proof = ""
            if how == "survived":
                proof = "equal" if is_equivalent(mutant, folder, rules) else "none"
            records.append(
                Record(
                    unit=unit.name,
                    number=number,
                    text=mutant.text,
                    **asdict(mutant),
                    how=how,
                    killed_by=killed_by,
                    proof=proof,
                )
            )
    return records
