"""Many programs, one after the other or several at a time."""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import count

from regression.random_programs.generator import MULTIPLIES, make_program
from regression.random_programs.program import Program
from regression.random_programs.results import compared_results
from regression.random_programs.running import Core, difference, open_rtl
from sim.build import build_core

__all__ = ["Campaign", "Observe", "Verdict"]

Observe = Callable[[Program, Core], Counter[tuple[str, str]]]
"""What a program that was executed has shown: how often each bin of each coverpoint."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What came of one program.

    Parameters
    ----------
    number : int
        Of the program in its run.
    commands : int
    results : int
        Elements of D that were computed and compared.
    difference : str or None
        What was wrong, if anything.
    seen : Counter
        What was observed.
    """

    number: int
    commands: int
    results: int
    difference: str | None
    seen: Counter[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """A run of random programs.

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

        found = difference(program, open_rtl, lockstep=self.is_lockstep(number), on_end=on_end)
        return Verdict(
            number=number,
            commands=len(program.commands),
            results=compared_results(program.commands),
            difference=found,
            seen=seen,
        )

    def run(self, results: int, *, jobs: int = 1) -> Iterator[Verdict]:
        """Run programs until so many results have been compared, or one differs.

        Parameters
        ----------
        results : int
        jobs : int
            Processes at work at once. The verdicts come in order, whatever their number.
        """
        build_core(self.program(0).config)  # once, and not in every process
        compared = 0
        for verdict in self._verdicts(jobs):
            yield verdict
            compared += verdict.results
            if compared >= results or verdict.difference is not None:
                return

    def _verdicts(self, jobs: int) -> Iterator[Verdict]:
        if jobs == 1:
            yield from map(self.check, count())
            return
        with ProcessPoolExecutor(jobs) as pool:
            waiting = [pool.submit(self.check, number) for number in range(2 * jobs)]
            try:
                for number in count(2 * jobs):
                    yield waiting.pop(0).result()
                    waiting.append(pool.submit(self.check, number))
            finally:
                for future in waiting:
                    future.cancel()
