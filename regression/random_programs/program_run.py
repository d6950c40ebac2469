"""The programs of a seed, each made and run by its number."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from regression.random_programs.generator import MULTIPLIES, make_program
from regression.random_programs.program import Program
from regression.random_programs.results import compared_results
from regression.random_programs.running import Core, difference

__all__ = ["Observe", "ProgramRun", "Verdict"]

Observe = Callable[[Program, Core], Counter[tuple[str, str]]]
"""What a program that was executed has shown: how often each bin of each coverpoint."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What came of one program.

    Parameters
    ----------
    number : int
        Of the program in its run.
    results : int
        Elements of D that were computed and compared.
    difference : str or None
        What was wrong, if anything.
    seen : Counter
        What was observed.
    """

    number: int
    results: int
    difference: str | None
    seen: Counter[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class ProgramRun:
    """The random programs of a seed.

    Parameters
    ----------
    preset : str
        Of `hdl.config.PRESETS`.
    seed : int
    lockstep_every : int
        Every so many programs one is short and compared after each command; 0 for none.
    multiplies : int
        In a program, with operands of their own.
    observe : callable or None
        Called for each program that was executed without a difference.
    type : str or None
        Only multiplies of an A of this type; None for all.
    """

    preset: str
    seed: int = 1
    lockstep_every: int = 50
    multiplies: int = MULTIPLIES
    observe: Observe | None = None
    type: str | None = None

    def program(self, number: int) -> Program:
        """One of the programs, the same whenever it is asked for."""
        multiplies = max(2, self.multiplies // 8) if self.is_lockstep(number) else self.multiplies
        return make_program(self.preset, self.seed, number, multiplies, self.type)

    def is_lockstep(self, number: int) -> bool:
        """Whether the program of that number is compared after each command."""
        return bool(self.lockstep_every) and number % self.lockstep_every == self.lockstep_every - 1

    def check(self, number: int) -> Verdict:
        """Run one program on the Verilated core."""
        program = self.program(number)
        seen: Counter[tuple[str, str]] = Counter()

        def on_end(core: Core) -> None:
            if self.observe is not None:
                seen.update(self.observe(program, core))

        found = difference(program, lockstep=self.is_lockstep(number), on_end=on_end)
        return Verdict(
            number=number,
            results=compared_results(program.commands),
            difference=found,
            seen=seen,
        )
