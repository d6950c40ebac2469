"""What is known about each mutant."""

from dataclasses import dataclass
from typing import Literal

Proof = Literal["", "equal", "none"]


@dataclass(frozen=True, kw_only=True)
class Record:
    """One mutant and its outcome."""

    unit: str
    number: int
    """Within the unit, from 1."""
    what: str
    """The fault."""
    source: str
    text: str
    """The line at `source`, which is ``file:line``."""
    command: str
    """How yosys makes the mutant."""
    how: str
    """As `regression.mutation.simulation.run_mutants` says it."""
    killed_by: str
    """The test that failed, or nothing."""
    proof: Proof = ""
    """Of a survivor: ``equal`` if it is proven to be no fault, ``none`` if that was tried in vain, empty
    before."""

    @property
    def survived(self) -> bool:
        """Whether every test passed."""
        return self.how == "survived"
