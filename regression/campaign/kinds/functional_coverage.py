"""Directed and random programs until every bin of the functional model was seen."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from itertools import chain, count, product
from typing import ClassVar, Final

import numpy as np

from golden.arithmetic.scales import SCALE_TYPES
from golden.matrix_descriptors import SPANS
from golden.memory import Memory
from golden.programs.buffers import BASE
from golden.tables.commands import Wgmma
from golden.tables.instruction_set import CORE_FAMILIES, CORE_NARROW_FAMILIES, multiplicand_formats
from hdl.config import PRESETS
from openwmma.usage_error import UsageError
from regression.campaign.kind import Configuration, Kind, Outcome, Task, Verdict
from regression.functional.collector import EARLY, model_of, observe
from regression.functional.directed import hazard_program
from regression.functional.model import Coverpoint, Seen, bin_name, share, tables
from regression.functional.shares import ORDERS, SWIZZLES, has_conflicts, packed_descriptor
from regression.random_programs.choices import multiplies_of, names_of
from regression.random_programs.faulting import FaultSession, state_difference
from regression.random_programs.generator import make_program
from regression.random_programs.operands import FLOAT_KINDS, TWO_PRODUCTS
from regression.random_programs.program import Program, config_named, named_core
from regression.random_programs.running import difference, open_rtl
from regression.random_programs.shares import share_forms
from sim.rtl_machine import RtlMachine
from sim.simulation import HostRefusal

_ROUND: Final = 12
"""Random programs between two choices of a type."""

_ALL_TYPES: Final = re.compile(r"\w+\.\w+ \+ \w+ to \w+")

_FP8: Final = ("e4m3", "e5m2")
_FP8_MULTIPLIES: Final = 576
SPARSE_CORE: Final = "small sparse=true f64_units=0 shared_bytes=0 registers=128"
SMALL_CORE: Final = "tiny formats=f16,fp8,fp6,fp4 profile=blackwell"
SCALED_CORE: Final = f"{SMALL_CORE} block_scale=true mxf4=true sparse=true"
ALL_SMALL_CORE: Final = SCALED_CORE.replace("f16", "f16,i8,i4")
WGMMA_CORE: Final = "small wgmma=true warps=4 registers=128 shared_bytes=65536 f64_units=0"
_FAULTING: Final = (
    "tiny",
    "small",
    SPARSE_CORE,
    WGMMA_CORE,
)
"""Cores for all ways to a fault: one has not all families and no on-chip memory, another few registers, and
two have options."""


class FunctionalCoverage(Kind):
    """Directed programs, then random ones, steered to the types that missing bins name."""

    name = "functional"
    unit = "programs"
    options: ClassVar[Configuration] = {"preset": "small", "set": []}
    known: ClassVar = {"preset": PRESETS}
    amount = 600
    has_coverage = True

    def __init__(self, seed: int, configuration: Configuration) -> None:
        super().__init__(seed, configuration)
        self.seen: Seen = Counter()
        self._core = named_core(configuration)

    def require(self) -> None:
        """UsageError for a preset or a setting that is not there."""
        super().require()
        config = config_named(self._core)
        if (config.shared_bytes or config.sparse) and not {"i8", "i4"} <= config.formats:
            formats = ", ".join(sorted(config.formats))
            raise UsageError(
                f"--set: expected formats with i8 and i4, whose loads bring addresses, not {formats}"
            )

    @cached_property
    def model(self) -> tuple[Coverpoint, ...]:
        """The coverpoints of the core."""
        return model_of(config_named(self._core))

    def tasks(self) -> Iterator[Task]:
        """Directed programs, then random ones: in every other round only multiplies of a type missing."""
        for name in _DIRECTED:
            yield Task(key=f"directed {name}", arguments={"directed": name})
        numbers: dict[str | None, Iterator[int]] = {}
        # Faults are shown on cores of their own, which may have types that this one lacks.
        names = set(chain(*map(names_of, multiplies_of(config_named(self._core)))))
        for turn in count():
            missing = [type for type in types_in(self.holes()) if type in names]
            type = missing[turn // 2 % len(missing)] if turn % 2 and missing else None
            for _ in range(_ROUND):
                number = next(numbers.setdefault(type, count()))
                yield Task(
                    key=f"random {type or 'any'} {number:06}",
                    arguments={"type": type, "number": number},
                    results=1,
                )

    def run(self, task: Task) -> Outcome:
        """Run a program; what it has shown, unless it failed."""
        seen: Seen = Counter()
        if "directed" in task.arguments:
            found = _DIRECTED[task.arguments["directed"]](seen, self._core, self.seed)
        else:
            number, type = task.arguments["number"], task.arguments["type"]
            kinds = TWO_PRODUCTS if type and number % 2 else FLOAT_KINDS
            program = make_program(self._core, self.seed, number, type=type, kinds=kinds)
            found = _run_program(seen, program)
        data = [] if found else [(point, item, hits) for (point, item), hits in sorted(seen.items())]
        return Outcome(cases=(self.case(task, found or ""),), results=task.results, data=data)

    def add(self, task: Task, outcome: Outcome) -> None:
        """Add what was seen up."""
        self.seen.update({(point, item): hits for point, item, hits in outcome.data or ()})

    def holes(self) -> list[str]:
        """The bins that were not seen."""
        return [f"{point.name} / {hole}" for point in self.model for hole in point.holes(self.seen)]

    def verdict(self, outcomes: Iterable[tuple[Task, Outcome]]) -> Verdict:
        """Every bin must have been seen, and none that the model excludes."""
        wrong = [f"{point.name} / {item}" for point in self.model for item in point.contradictions(self.seen)]
        found, bins = share(self.model, self.seen)
        failures = [f"bins seen must be {bins}, not {found}"] if found < bins else []
        failures += [f"seen, but excluded: {item}" for item in wrong]
        return Verdict(failures=failures, holes=self.holes(), tables=tables(self.model, self.seen))


def types_in(holes: Sequence[str]) -> list[str]:
    """What multiplies the holes name, most often named first, by one of `names_of` each.

    A hole names all types of a multiply; or types of multiplicands and scales, or their format (fp8).
    """
    families = (*CORE_FAMILIES, *CORE_NARROW_FAMILIES)
    types = dict.fromkeys(name for family in families for name in family.multiplicands)
    names = {name: "|".join((name, *multiplicand_formats((name,)))) for name in types}
    names |= {name: name for name in SCALE_TYPES}
    found: Counter[str] = Counter(dict.fromkeys(names, 0))
    for hole in holes:
        if of_one := _ALL_TYPES.search(hole):
            found[of_one[0]] += 1
        else:
            found.update(name for name in names if re.search(rf"\b({names[name]})\b", hole))
    return [name for name, count in found.most_common() if count]


def _run_program(seen: Seen, program: Program) -> str | None:
    return difference(program, on_end=lambda core: seen.update(observe(program, core)))


def _fp8(seen: Seen, preset: str, seed: int) -> str | None:
    """Sums of fp8 that more than two products hide."""
    for type in _FP8 if "fp8" in config_named(preset).formats else ():
        program = make_program(preset, seed, multiplies=_FP8_MULTIPLIES, type=type, kinds=TWO_PRODUCTS)
        if (found := _run_program(seen, program)) is not None:
            return found
    return None


def run_early_host(seen: Seen, preset: str, seed: int) -> str | None:
    """Run a program while the host asks for what it must not, and compare; what was wrong, if anything."""
    program = make_program(preset, seed, multiplies=8)
    golden = program.golden()
    ones = np.array([0xFFFF_FFFF], dtype=np.uint32)
    with closing(open_rtl(program)) as machine:
        accesses: dict[str, Callable[[int], object]] = {
            "read": machine.simulation.read,
            "write": lambda address: machine.simulation.write(address, ones),
        }
        early = [name for name in EARLY if program.config.shared_bytes or "shared" not in name]
        share = -(-len(program.commands) // len(early))
        for turn, name in enumerate(early):
            part = program.commands[turn * share : (turn + 1) * share]
            machine.queue(part)
            for access, attempt in accesses.items():
                if (access, name) == ("read", "mode"):
                    continue
                try:
                    attempt(EARLY[name])
                except HostRefusal:
                    seen["early host", bin_name(access, name)] += 1
                else:
                    return f"a {access} of the {name} was accepted while the core was at work"
            machine.finish()
            for command in part:
                golden.execute(command)
        return state_difference(golden, machine)


def _faults(seen: Seen, preset: str, seed: int) -> str | None:
    failures = []
    for name in dict.fromkeys((*_FAULTING, preset)):
        for illegal, mode, found in FaultSession(name, seed).run():
            if found is None:
                point = "scale fault" if illegal.kind == "scaled" else "fault"
                seen[point, bin_name(illegal.cause.name.lower(), illegal.kind, illegal.way, mode)] += 1
            else:
                failures.append(f"{illegal}, {mode}: {found}")
    return "\n".join(failures) or None


def run_banks(seen: Seen, core: str, seed: int) -> str | None:
    """Shares alone on the core, with packed rows of each swizzle."""
    config = config_named(core)
    forms = [item for each in share_forms(config) for item in each if item.a_type == "f16"]
    if not forms:
        return None
    instruction = forms[-1]
    operands = instruction.shape.m, instruction.shape.n
    with closing(RtlMachine(config, Memory(1 << 12, BASE))) as machine:
        for span, transposed in product(SPANS, (False, True)):
            a, b = (packed_descriptor(rows, span) for rows in operands)
            before = machine.counters
            machine.execute(Wgmma(instruction, 0, a, b, transposed=(transposed, transposed)))
            conflicts = (machine.counters - before).bank_conflicts
            outcome = "seen" if conflicts else "none"
            if bool(conflicts) != has_conflicts(config, SWIZZLES[span]):
                return f"{conflicts} bank conflicts with swizzle {SWIZZLES[span]}, {ORDERS[transposed]}"
            seen["bank conflict", bin_name(SWIZZLES[span], ORDERS[transposed], outcome)] += 1
    return None


_DIRECTED: Final[Mapping[str, Callable[[Seen, str, int], str | None]]] = {
    "hazards": lambda seen, *given: _run_program(seen, hazard_program(*given)),
    "fp8": _fp8,
    "early host": run_early_host,
    "faults": _faults,
    "banks": run_banks,
}
