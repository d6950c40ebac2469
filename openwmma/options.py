"""Option types that several commands share, and checks of paths."""

from pathlib import Path
from typing import Annotated

import typer

from golden.tables.profiles import PROFILES
from hdl.config import PRESETS, CoreConfig
from openwmma.core_profile import DEFAULT_PROFILE
from openwmma.target import DEFAULT_PRESET, MachineKind
from openwmma.usage import UsageError

__all__ = [
    "Baud",
    "GpuNumber",
    "On",
    "Port",
    "Preset",
    "Profile",
    "RunPreset",
    "RunProfile",
    "Settings",
    "Trace",
    "Waves",
    "preset_config",
]

On = Annotated[
    MachineKind,
    typer.Option(
        "--on",
        help="The golden model, the simulated core, the core on a board, an NVIDIA GPU (cuda); in lockstep: "
        "the golden model and one of the others, whose results are compared.",
    ),
]
Preset = Annotated[str, typer.Option("--preset", help="Configuration of the core; see `openwmma presets`.")]
RunPreset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        help=f"Configuration of the core, {DEFAULT_PRESET} by default; see `openwmma presets`. "
        "A board knows its own.",
    ),
]
_PROFILE = f"Numerics of a generation: {', '.join(PROFILES)}."
Profile = Annotated[str, typer.Option("--profile", help=_PROFILE)]
RunProfile = Annotated[
    str | None,
    typer.Option("--profile", help=f"{_PROFILE} {DEFAULT_PROFILE} by default; a board knows its own."),
]
Port = Annotated[
    str | None,
    typer.Option(
        "--port",
        metavar="DEVICE",
        help="Serial port of the board, as in /dev/ttyUSB0; in lockstep it takes the simulated core's place.",
    ),
]
GpuNumber = Annotated[
    int | None,
    typer.Option(
        "--gpu",
        metavar="NUMBER",
        help="Which NVIDIA GPU, from 0 on; in lockstep it takes the simulated core's place.",
    ),
]
Baud = Annotated[int, typer.Option("--baud", min=1, help="Bits per second that the board was built for.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A field of the preset to replace on a simulated machine, as in shared_bytes=98304.",
    ),
]
Trace = Annotated[
    Path | None,
    typer.Option(
        "--trace",
        metavar="FILE.json",
        help="Write what each unit of the simulated core does with each command, for Perfetto or Chrome.",
    ),
]
Waves = Annotated[
    Path | None,
    typer.Option(
        "--waves",
        metavar="FILE.fst",
        help="Write a waveform of the simulated core, and layouts for its viewers.",
    ),
]


def preset_config(name: str) -> CoreConfig:
    """The configuration of a preset; UsageError for an unknown name."""
    if name not in PRESETS:
        raise UsageError(f"--preset {name}: expected one of {', '.join(PRESETS)}")
    return PRESETS[name]
