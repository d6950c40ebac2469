"""The signals of a core that help a reader of its waveform, by unit, with their formats."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from golden.tables.faults import Cause
from hdl.config import CoreConfig
from hdl.control.scoreboard import Unit
from hdl.memory.axi import Response
from hdl.verilog.modules import INSTANCE, MODULE
from sim.trace.probes import SIGNALS, absent_signals, of_warp

SCOPE: Final = "TOP.openwmma_core"
"""Where the waveform has the ports of the core; its instances are below ``core``."""


class Format(NamedTuple):
    """How the values of a signal are shown, by the names that viewers have for it."""

    gtkwave: str
    surfer: str | None
    """None for its default."""


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

_FORMATS: Final = {
    "": Format("bin", None),
    "b": Format("bin", "Binary"),
    "d": Format("dec", "Unsigned"),
    "h": Format("hex", "Hexadecimal"),
}


def signal_groups(config: CoreConfig, verilog: str) -> list[SignalGroup]:
    """The groups of a core's configuration, whose Verilog is as `sim.build.core_verilog` gives it.

    ValueError for a signal that the Verilog lacks.
    """
    widths, absent = signal_widths(verilog), absent_signals(config)
    groups = [
        SignalGroup(
            title=title,
            signals=tuple(
                _shown(name, widths)
                for item in items
                if not item.startswith(absent)
                for name in _of_warps(item, config.warps)
            ),
        )
        for title, items in SIGNALS["groups"].items()
    ]
    return [group for group in groups if group.signals]


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
        format=_FORMATS["d" if states else kind],
        states=states,
        kind=kind if states else "",
    )
