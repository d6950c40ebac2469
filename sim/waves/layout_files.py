"""Files beside a waveform with which GTKWave and Surfer show the signals that matter."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from vcd.gtkw import GTKWSave

from sim.files import write_files
from sim.waves.signal_groups import ShownSignal, SignalGroup

MAPPINGS: Final = Path(".surfer") / "mappings"
"""Folder in which Surfer looks for names of values, below the one it is started in."""

_ZOOM: Final = -8.0
"""Of GTKWave: about a hundred cycles in a window of usual width."""


def layout_paths(waves: Path) -> dict[str, Path]:
    """Where the layouts of a waveform go: for ``gtkwave``, and for ``surfer``."""
    return {"gtkwave": waves.parent / f"{waves.stem}.gtkw", "surfer": waves.parent / f"{waves.stem}.sucl"}


def write_layouts(waves: Path, groups: Sequence[SignalGroup]) -> None:
    """Write the layouts of a waveform, an FST file, and the names of values that they refer to.

    The names for Surfer go to `MAPPINGS` below the waveform's folder, those for GTKWave to files beside the
    waveform. OSError as writing does.
    """
    paths = layout_paths(waves)
    named = {signal.kind: signal for group in groups for signal in group.signals if signal.states}
    filters = {kind: waves.with_suffix(f".{kind}.txt") for kind in named}
    mappings = waves.parent / MAPPINGS
    mappings.mkdir(parents=True, exist_ok=True)
    write_files(
        {
            paths["gtkwave"]: gtkwave_layout(waves, groups, filters),
            paths["surfer"]: surfer_commands(groups),
            **{filters[kind]: _gtkwave_filter(signal) for kind, signal in named.items()},
            **{mappings / _mapping(kind): _surfer_mapping(signal) for kind, signal in named.items()},
        }
    )


def gtkwave_layout(waves: Path, groups: Sequence[SignalGroup], filters: Mapping[str, Path]) -> str:
    """The text of a save file of GTKWave; `filters` are files with the names of values, by their kind."""
    text = io.StringIO()
    save = GTKWSave(text)
    save.comment("Written by openwmma")
    save.dumpfile(str(waves))
    save.timestart(0)
    save.zoom_markers(_ZOOM)
    save.sst_expanded(False)
    for group in groups:
        with save.group(group.title):
            for signal in group.signals:
                bits = f"[{signal.width - 1}:0]" if signal.width > 1 else ""
                save.trace(
                    f"{signal.scoped_name}{bits}",
                    datafmt=signal.format.gtkwave,
                    translate_filter_file=str(filters[signal.kind].absolute()) if signal.states else None,
                )
    return text.getvalue()


def surfer_commands(groups: Sequence[SignalGroup]) -> str:
    """The text of a command file of Surfer.

    Items are numbered in the digits a to p; formats are set when all items are there, since Surfer formats
    the item in focus.
    """
    adding, setting = [], []
    number = 0
    for group in groups:
        adding.append(f"divider_add {group.title.replace(' ', '_')}")
        number += 1
        for signal in group.signals:
            adding.append(f"variable_add {signal.scoped_name}")
            format_ = _mapping(signal.kind) if signal.states else signal.format.surfer
            if format_ is not None and (signal.width > 1 or signal.states):
                setting += [f"item_focus {_letters(number)}", f"item_set_format {format_}"]
            number += 1
    return "\n".join([*adding, *setting, "item_unfocus", "zoom_fit", ""])


def _letters(number: int) -> str:
    return "".join(chr(ord("a") + int(digit, 16)) for digit in f"{number:x}")


def _mapping(kind: str) -> str:
    return f"openwmma-{kind}"


def _gtkwave_filter(signal: ShownSignal) -> str:
    return "".join(f"{value} {name}\n" for value, name in signal.states.items())


def _surfer_mapping(signal: ShownSignal) -> str:
    lines = [f"Name = {_mapping(signal.kind)}", f"Bits = {signal.width}"]
    return "\n".join([*lines, *(f"{value} {name}" for value, name in signal.states.items()), ""])
