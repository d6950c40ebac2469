"""The signals of a core that help a reader of its waveform, by unit, with their formats."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from golden.tables.faults import Cause
from hdl.config import CoreConfig
from hdl.control.scoreboard import Unit
from hdl.control.warps import STALLS
from hdl.memory.axi import Response
from hdl.verilog.modules import INSTANCE, MODULE
from sim.trace.probes import of_warp

SCOPE: Final = "TOP.openwmma_core"
"""Where the waveform has the ports of the core; its instances are below ``core``."""

Format = Literal["bit", "binary", "decimal", "hexadecimal"]

_TOP: Final = "openwmma_core"
_CORE: Final = r"\openwmma_core.core"
_DECLARATION: Final = re.compile(r"^  (?:input|output|wire|reg)(?: \[(\d+):0\])? (\w+)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class ShownSignal:
    """A signal and how it is shown."""

    path: str
    """Instances within the core, with dots between; empty for a port of the core."""
    name: str
    """As in the Verilog."""
    width: int
    format: Format
    states: Mapping[int, str]
    """Names of values, which are shown instead of numbers."""
    kind: str
    """What those names are of, for the name of their file; empty without names."""

    @property
    def scoped_name(self) -> str:
        """The name in the waveform, without range of bits."""
        instances = ["core", *self.path.split(".")] if self.path else []
        return ".".join([SCOPE, *instances, self.name])


@dataclass(frozen=True, kw_only=True)
class SignalGroup:
    """The signals of one unit."""

    title: str
    signals: tuple[ShownSignal, ...]


_STATES: Final[dict[str, Mapping[int, str]]] = {
    "unit": {unit.value: unit.name for unit in Unit},
    "fault": {0: "none"} | {cause.value: cause.name for cause in Cause},
    "axi-response": {response.value: response.name for response in Response},
}

_STREAM: Final = ("valid", "ready")
_GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "clock and host": ("aclk", "aresetn", "irq", "host.registers.queue.level:d"),
    "sequencer": (
        *(f"sequencer.{name}" for name in ("commands__valid", "commands__ready", "serial")),
        *(f"sequencer.{name}" for name in ("decode", "start", "running", "halt")),
        *(f"sequencer.{name}" for name in STALLS),
        "sequencer.cause:fault",
        "sequencer.executed:d",
    ),
    "scoreboard": (
        "sequencer.scoreboard.unit:unit",
        *(f"sequencer.scoreboard.{name}" for name in ("second", "allocate", "full")),
        *(f"sequencer.scoreboard.{name}" for name in ("conflict", "span_conflict")),
        "sequencer.scoreboard.fetched:b",
        "sequencer.scoreboard.done:b",
    ),
    "load engine": (
        *(f"load.bursts.bursts__{name}" for name in _STREAM),
        "load.bursts.bursts__payload:h",
        *(f"load.crossbar.beats__{name}" for name in _STREAM),
        *(f"load.writer.{name}" for name in ("write__enable", "write__ready", "done")),
        "load.writer.cause:fault",
    ),
    "store engine": (
        *(f"store.reader.{name}" for name in ("read__enable", "read__ready", "fetched")),
        *(f"store.bursts.bursts__{name}" for name in _STREAM),
        "store.bursts.bursts__payload:h",
        *(f"store.crossbar.beats__{name}" for name in _STREAM),
    ),
    "tile multiplier": (
        *(f"tile.fetch.{name}" for name in ("request__valid", "request__ready", "c_reading", "fetched")),
        "tile.issue.busy_units:d",
        *(f"tile.collect.{name}" for name in ("write__enable", "write__ready", "done")),
    ),
    "f64 multiplier": (
        *(f"f64.fetch.{name}" for name in ("request__valid", "request__ready", "reading", "fetched")),
        "f64.issue.busy_units:d",
        *(f"f64.collect.{name}" for name in ("write__enable", "write__ready", "done")),
    ),
    "register mover": (
        *(f"mover.request__{name}" for name in _STREAM),
        *(f"mover.{name}" for name in ("write__enable", "write__ready", "done")),
    ),
    "matrix moves": (
        "sequencer.rows_start",
        "sequencer.rows_done",
    ),
    "on-chip memory": (
        *(f"memory.shared.read_bursts__{name}" for name in _STREAM),
        *(f"memory.shared.read_beats__{name}" for name in _STREAM),
        *(f"memory.shared.write_beats__{name}" for name in _STREAM),
        *(f"memory.shared.words__{name}" for name in ("enable", "ready")),
    ),
    "AXI4 reads": (
        *(f"m_axi_ar{name}" for name in (*_STREAM, "addr:h", "len:d")),
        *(f"m_axi_r{name}" for name in (*_STREAM, "last", "data:h", "resp:axi-response")),
    ),
    "AXI4 writes": (
        *(f"m_axi_aw{name}" for name in (*_STREAM, "addr:h", "len:d")),
        *(f"m_axi_w{name}" for name in (*_STREAM, "last", "strb:b", "data:h")),
        *(f"m_axi_b{name}" for name in (*_STREAM, "resp:axi-response")),
    ),
}
"""Signals with their formats: b, d, h for binary, decimal, hexadecimal, or a key of `_STATES`."""

_FORMATS: Final[dict[str, Format]] = {"": "bit", "b": "binary", "d": "decimal", "h": "hexadecimal"}


def signal_groups(config: CoreConfig, verilog: str) -> list[SignalGroup]:
    """The groups of a core's configuration.

    Parameters
    ----------
    config : CoreConfig
    verilog : str
        Of the core of that configuration, as `sim.build.core_verilog` gives it.

    Raises
    ------
    ValueError
        For a signal that the Verilog lacks.
    """
    widths = signal_widths(verilog)
    absent = set()
    if not config.f64_units:
        absent.add("f64 multiplier")
    if not config.shared_bytes:
        absent |= {"matrix moves", "on-chip memory"}
    return [
        SignalGroup(
            title=title,
            signals=tuple(_shown(name, widths) for item in items for name in _of_warps(item, config.warps)),
        )
        for title, items in _GROUPS.items()
        if title not in absent
    ]


def signal_widths(verilog: str) -> dict[str, int]:
    """The width of every signal of the core by its path below the core's module, ports of the top by name.

    Instances of equal modules are of one module, which has the name of the first.
    """
    modules = {match[1]: match[0] for match in MODULE.finditer(verilog)}
    found = {}

    def add(place: str, module: str) -> None:
        for declaration in _DECLARATION.finditer(modules[module]):
            found[f"{place}{declaration[2]}"] = int(declaration[1] or 0) + 1
        add_instances(place, module)

    def add_instances(place: str, module: str) -> None:
        for instance in INSTANCE.finditer(modules[module]):
            if instance[2] == _CORE:
                add_instances("", _CORE)
            else:
                add(f"{place}{instance[3].split()[0]}.", instance[2])

    add("", _TOP)
    return found


def _of_warps(item: str, warps: int) -> list[str]:
    """The signals of all warps, or the one there is."""
    return list(dict.fromkeys(of_warp(item, warp) for warp in range(warps)))


def _shown(item: str, widths: Mapping[str, int]) -> ShownSignal:
    place, _, kind = item.partition(":")
    if place not in widths:
        raise ValueError(f"the Verilog of the core has no signal {place}")
    path, _, name = place.rpartition(".")
    states = _STATES.get(kind, {})
    return ShownSignal(
        path=path,
        name=name,
        width=widths[place],
        format="decimal" if states else _FORMATS[kind],
        states=states,
        kind=kind if states else "",
    )
