"""The signals of a core that traces are made of, and how Verilator and the harness get at them."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from amaranth.lib import data

from hdl.config import CoreConfig
from hdl.control.scoreboard import Footprint, Range
from hdl.memory.access import checked_layout

_WIDEST: Final = 64
"""Bits of a probe: what the harness keeps of one."""

FOOTPRINT_RANGES: Final = ("reads_0", "reads_1", "reads_2", "write")
"""The register ranges of a command, as they follow one another in `hdl.control.scoreboard.Footprint`."""

BUS: Final = "AXI4 memory port"
SHARED: Final = "on-chip memory"

SIGNALS: Final = tomllib.loads(Path(__file__).parents[1].joinpath("signals.toml").read_text())
"""The signals that waveforms and traces show, by unit."""

ACTIVITIES: Final[Mapping[str, Mapping[str, Sequence[str]]]] = SIGNALS["activities"]
"""Rows of each process of a trace that show when signals are high, by the names of their probes."""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A signal, or some bits of one."""

    path: str
    """Instances within the core, with dots between; empty for a port of the core."""
    signal: str
    """As in the Verilog."""
    part: str = ""
    """What the bits are called, where they are not all."""
    first: int = 0
    width: int = _WIDEST
    """Lowest bit, and number of bits: at most 64."""

    @property
    def name(self) -> str:
        """Path, signal and part, with dots between."""
        return ".".join(filter(None, (self.path, self.signal, self.part)))

    @property
    def member(self) -> str:
        """The member of the Verilated model's root."""
        if not self.path:
            return self.signal
        # Verilator spells the second of two underscores as a code, as __ has a meaning in its own names.
        instances = ["openwmma_core", "core", *self.path.split("."), self.signal]
        return "__DOT__".join(name.replace("__", "___05F") for name in instances)


def of_warp(name: str, warp: int) -> str:
    """The name of a probe, of which each warp has one, by the name for the warp that is looked at."""
    for of_any, of_one in _EACH_WARP.items():
        if name.startswith(f"{of_any}."):
            return of_one.format(warp) + name.removeprefix(of_any)
    return name


_EACH_WARP: Final = {"sequencer": "warps.sequencer_{}", "host.registers.queue": "host.registers.queue_{}"}
"""Instances that each warp has."""


def absent_signals(config: CoreConfig) -> tuple[str, ...]:
    """What the names of signals begin with that a core lacks."""
    shared = () if config.shared_bytes else ("memory.shared.", "sequencer.rows_")
    return shared if config.f64_units else ("f64.", *shared)


def probes_of(config: CoreConfig) -> tuple[Probe, ...]:
    """The probes of a core, in the order in which the harness numbers them."""
    absent, recorded = absent_signals(config), SIGNALS["recorded"]

    def probes(names: Iterable[str]) -> list[Probe]:
        found = [name.rpartition(".") for name in names if not name.startswith(absent)]
        return [Probe(path=path, signal=signal) for path, _, signal in found]

    each_warp = [*probes(recorded["each_warp"]), *_footprint(), *_span(config)]
    of_warps = [
        replace(probe, path=of_warp(f"{probe.path}.", warp).removesuffix("."))
        for warp in range(config.warps)
        for probe in each_warp
    ]
    activities = (name for rows in ACTIVITIES.values() for names in rows.values() for name in names)
    return (*of_warps, *probes(recorded["once"]), *probes(activities))


def register_file(config: CoreConfig) -> tuple[Probe, ...]:
    """The memories of the registers; of several, each has a register in its turn."""
    count = config.register_memories
    names = [f"memory_{number}" for number in range(count)] if count > 1 else ["memory"]
    return tuple(Probe(path="registers", signal=name) for name in names)


def shared_memory(config: CoreConfig) -> tuple[Probe, ...]:
    """The banks of the on-chip memory, in which parts of a beat lie in turns; nothing without it."""
    if config.wgmma:
        return tuple(
            Probe(path="memory.shared.memory", signal=f"bank_{number}") for number in range(config.beat_quads)
        )
    return (Probe(path="memory.shared", signal="memory"),) if config.shared_bytes else ()


def _footprint() -> list[Probe]:
    width = data.Layout.cast(Range).size
    if width * len(FOOTPRINT_RANGES) != data.Layout.cast(Footprint).size:
        raise ValueError(f"A footprint must consist of {', '.join(FOOTPRINT_RANGES)}")
    return [
        Probe(path="sequencer.scoreboard", signal="footprint", part=name, first=index * width, width=width)
        for index, name in enumerate(FOOTPRINT_RANGES)
    ]


def _span(config: CoreConfig) -> list[Probe]:
    layout = checked_layout(config)
    return [
        Probe(
            path="sequencer.check",
            signal="checked",
            part=end,
            first=layout[end].offset,
            width=min(layout[end].width, _WIDEST),
        )
        for end in ("first", "last")
    ]


def verilator_settings(probes: Iterable[Probe]) -> str:
    """Lines of Verilator's settings file that keep the signals readable.

    Verilator has codes in names for dots and for double underscores; here an asterisk stands for either.
    """
    kept = dict.fromkeys((probe.path, probe.signal) for probe in probes if probe.path)
    return "".join(
        f'public_flat_rd -module "openwmma_core*core*{path.replace(".", "*")}" '
        f'-var "{signal.replace("__", "*")}"\n'
        for path, signal in kept
    )


def harness_header(probes: Sequence[Probe]) -> str:
    """The header of `sim/harness/recorder.h`, which does not compile with a name that the model lacks."""
    lines = [f"    PROBE({probe.member}, {probe.first}, {probe.width})" for probe in probes]
    listed = " \\\n".join(["#define OPENWMMA_PROBES(PROBE)", *lines])
    return f"#pragma once\n#define OPENWMMA_PROBE_COUNT {len(probes)}\n{listed}\n"
