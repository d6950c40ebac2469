"""``python -m regression.functional``: run until everything has been seen, and report."""

import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from golden.tables.instruction_set import CORE_FAMILIES, multiplicand_formats
from regression.functional import environment
from regression.functional.collector import MODEL, observe
from regression.functional.directed import hazard_program
from regression.functional.fp8_directed import fp8_program
from regression.functional.model import Seen, load_seen, save_seen
from regression.functional.report import markdown, share, table
from regression.random_programs.campaign import Campaign
from regression.random_programs.faulting import FaultSession, FaultVerdict
from regression.random_programs.program import Program
from regression.random_programs.running import Core, difference

app = typer.Typer(add_completion=False, no_args_is_help=True)

_ROUND: Final = 12
"""Random programs between two looks at what is missing."""

_FEW: Final = 4
"""So many missing bins are named while the programs run."""

_LEAST: Final = "tiny"
"""A core that has not all families and no on-chip memory, for the faults that this makes possible."""


class Failed(Exception):
    """A run in which core and golden model differ."""


@app.command()
def run(
    out: Annotated[Path, typer.Option("--out", help="Folder of the runs and the page.")] = Path(
        "build/functional"
    ),
    preset: Annotated[str, typer.Option("--preset", help="A core of all families.")] = "small",
    seed: Annotated[int, typer.Option("--seed", help="Of everything.")] = 1,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Programs run at once.")] = 2,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Most random programs.")] = 600,
) -> None:
    """Run directed and random programs until every bin has been seen, and report.

    Random programs are steered: every other round has only multiplies of one of the types that the missing
    bins name, in turn. The exit code is 1 where a bin was not seen, or where core and golden model differ.
    """
    for old in out.glob("*.json"):
        old.unlink()
    try:
        steps: dict[str, Callable[[str, int], Seen]] = {
            "hazards": lambda *given: _directed("hazard program", hazard_program(*given)),
            "fp8": lambda *given: _directed("fp8 program", fp8_program(*given)),
            "early host": _early_host,
            "faults": _faults,
        }
        for name, collect in steps.items():
            _told(f"{name} ...")
            save_seen(out / f"{name}.json", collect(preset, seed), f"{name}, seed {seed}")
        seen, _ = load_seen(sorted(out.glob("*.json")))
        save_seen(
            out / "random.json", _random(seen, preset, seed, jobs, limit), f"random programs, seed {seed}"
        )
    except Failed as failure:
        print(failure, file=sys.stderr)
        sys.exit(1)
    sys.exit(_report(sorted(out.glob("*.json")), out))


@app.command()
def report(
    files: Annotated[list[Path], typer.Argument(metavar="FILE.json...", help="What runs have saved.")],
    out: Annotated[Path, typer.Option("--out", help="Folder of the page.")] = Path("build/functional"),
) -> None:
    """Merge what runs have seen, and report; the exit code is 1 where a bin was not seen."""
    missing = [str(path) for path in files if not path.is_file()]
    if missing:
        raise typer.BadParameter(f"expected files, not {', '.join(missing)}")
    sys.exit(_report(files, out))


def _directed(name: str, program: Program) -> Seen:
    seen: Seen = Counter()

    def on_end(core: Core) -> None:
        seen.update(observe(program, core))

    found = difference(program, on_end=on_end)
    if found is not None:
        raise Failed(f"{name} {program.seed[0]} on {program.preset}: {found}")
    return seen


def _early_host(preset: str, seed: int) -> Seen:
    seen: Seen = Counter()
    found = environment.run_early_host(seen, preset, seed)
    if found is not None:
        raise Failed(f"early host on {preset}, seed {seed}: {found}")
    return seen


def _faults(preset: str, seed: int) -> Seen:
    seen: Seen = Counter()
    failures: list[str] = []

    def on_verdict(verdict: FaultVerdict) -> None:
        environment.sample_fault(seen, verdict)
        if verdict.difference is not None:
            failures.append(f"{verdict.illegal}, {verdict.mode}: {verdict.difference}")

    for name in dict.fromkeys((_LEAST, preset)):
        session = FaultSession(name, seed)
        try:
            session.run(on_verdict)
        finally:
            session.close()
    if failures:
        raise Failed("\n".join(failures))
    return seen


def _random(seen: Seen, preset: str, seed: int, jobs: int, limit: int) -> Seen:
    """Random programs until nothing is missing."""
    found: Seen = Counter()
    begin = time.perf_counter()
    done = 0
    streams: dict[str | None, Generator[Seen, None, None]] = {}
    type: str | None = None
    while done < limit:
        if type not in streams:
            streams[type] = _programs(preset, seed, jobs, type)
        for _ in range(_ROUND):
            found.update(next(streams[type]))
        done += _ROUND
        holes = [f"{point.name} / {hole}" for point in MODEL for hole in point.holes(seen + found)]
        named = f" ({'; '.join(holes)})" if 0 < len(holes) <= _FEW else ""
        seconds = time.perf_counter() - begin
        _told(f"{done} random programs, {seconds:.0f} s: bins missing: {len(holes)}{named}")
        if not holes:
            break
        missing = _types_in(holes)
        type = missing[done // (2 * _ROUND) % len(missing)] if type is None and missing else None
    for stream in streams.values():
        stream.close()
    return found


def _types_in(holes: Sequence[str]) -> list[str]:
    """The types of multiplicands that the holes name, or of which they name the format (fp8)."""
    types = dict.fromkeys(name for family in CORE_FAMILIES for name in family.multiplicands)
    names = {name: "|".join((name, *multiplicand_formats((name,)))) for name in types}
    return [name for name in types if any(re.search(rf"\b({names[name]})\b", hole) for hole in holes)]


def _programs(preset: str, seed: int, jobs: int, type: str | None) -> Generator[Seen, None, None]:
    campaign = Campaign(preset=preset, seed=seed, observe=observe, lockstep_every=0, type=type)
    for verdict in campaign.run(1 << 62, jobs=jobs):
        if verdict.difference is not None:
            raise Failed(
                f"program {verdict.number} of seed {seed} on {preset}: {verdict.difference}; to shrink it: "
                f"python -m regression.random_programs --preset {preset} --seed {seed}"
                + (f" --type {type}" if type else "")
            )
        yield verdict.seen


def _report(files: Sequence[Path], out: Path) -> int:
    seen, runs = load_seen(files)
    Console().print(table(MODEL, seen))
    out.mkdir(parents=True, exist_ok=True)
    page = out / "functional-coverage.md"
    page.write_text(markdown(MODEL, seen, runs))
    contradictions = [f"{point.name} / {item}" for point in MODEL for item in point.contradictions(seen)]
    for item in contradictions:
        print(f"seen, but excluded: {item}")
    for point in MODEL:
        for hole in point.holes(seen):
            print(f"not seen: {point.name} / {hole}")
    found, bins = share(MODEL, seen)
    print(f"{found} of {bins} bins; the page is {page}")
    return 0 if found == bins and not contradictions else 1


def _told(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    app()
