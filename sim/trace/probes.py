"""The signals of a core that traces are made of, and how Verilator and the harness get at them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from amaranth.lib import data

from hdl.config import CoreConfig
from hdl.control.scoreboard import Footprint, Range, span_layout

__all__ = ["FOOTPRINT_RANGES", "REGISTER_FILE", "Probe", "harness_header", "probes_of", "verilator_settings"]

_WIDEST: Final = 64
"""Bits of a probe: what the harness keeps of one."""

FOOTPRINT_RANGES: Final = ("reads_0", "reads_1", "reads_2", "write")
"""The register ranges of a command, as they follow one another in `hdl.control.scoreboard.Footprint`."""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A signal, or some bits of one.

    Parameters
    ----------
    path : str
        Instances within the core, with dots between; empty for a port of the core.
    signal : str
        As in the Verilog.
    part : str
        What the bits are called, where they are not all.
    first, width : int
        Lowest bit, and number of bits: at most 64.
    """

    path: str
    signal: str
    part: str = ""
    first: int = 0
    width: int = _WIDEST

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


def probes_of(config: CoreConfig) -> tuple[Probe, ...]:
    """The probes of a core, in the order in which the harness numbers them."""
    found = [
        *_whole("host.registers.queue", "input__valid", "input__ready", "level", "clear"),
        *_whole("sequencer", "state", "stall_registers", "stall_memory", "stall_unit", "stall_empty"),
        *_whole("sequencer", "serial", "cause"),
        *_whole("sequencer.scoreboard", "unit", "operand", "is_write", "conflict", "span_conflict", "full"),
        *_whole("sequencer.scoreboard", "allocate", "fetched", "done"),
        *_footprint(),
        *_span(config),
        *_whole("load.bursts", "bursts__valid", "bursts__ready"),
        *_whole("load.unpack", "beats__valid", "beats__ready"),
        *_whole("load.writer", "write__enable", "write__ready"),
        *_whole("store.reader", "read__enable", "read__ready"),
        *_whole("store.bursts", "bursts__valid", "bursts__ready"),
        *_whole("store.pack", "beats__valid", "beats__ready"),
        *_whole("tile.fetch", "reading"),
        *_whole("tile.issue", "busy_units"),
        *_whole("tile.collect", "write__enable", "write__ready"),
        *_whole("mover", "write__enable", "write__ready"),
    ]
    if config.f64_units:
        found += [
            *_whole("f64.fetch", "reading"),
            *_whole("f64.issue", "busy_units"),
            *_whole("f64.collect", "write__enable", "write__ready"),
        ]
    if config.shared_bytes:
        found += [
            *_whole("sequencer", "rows_start", "rows_done"),
            *_whole("transposer", "write__enable", "write__ready"),
            *_whole("memory.shared", "read_beats__valid", "read_beats__ready"),
            *_whole("memory.shared", "write_beats__valid", "write_beats__ready"),
            *_whole("memory.shared", "words__enable", "words__ready"),
        ]
    for channel in ("ar", "aw"):
        found += _whole("", *(f"m_axi_{channel}{name}" for name in ("valid", "ready", "addr", "len")))
    found += _whole("", "m_axi_rvalid", "m_axi_rready", "m_axi_rlast", "m_axi_rresp")
    found += _whole("", "m_axi_wvalid", "m_axi_wready", "m_axi_wlast")
    found += _whole("", "m_axi_bvalid", "m_axi_bready", "m_axi_bresp")
    return tuple(found)


REGISTER_FILE: Final = Probe(path="registers", signal="memory")
"""The memory of the registers."""


def _whole(path: str, *signals: str) -> list[Probe]:
    return [Probe(path=path, signal=signal) for signal in signals]


def _footprint() -> list[Probe]:
    width = data.Layout.cast(Range).size
    if width * len(FOOTPRINT_RANGES) != data.Layout.cast(Footprint).size:
        raise ValueError(f"A footprint must consist of {', '.join(FOOTPRINT_RANGES)}")
    return [
        Probe(path="sequencer.scoreboard", signal="footprint", part=name, first=index * width, width=width)
        for index, name in enumerate(FOOTPRINT_RANGES)
    ]


def _span(config: CoreConfig) -> list[Probe]:
    return [
        Probe(
            path="sequencer.scoreboard",
            signal="span",
            part=str(name),
            first=field.offset,
            width=min(field.width, _WIDEST),
        )
        for name, field in span_layout(config)
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
