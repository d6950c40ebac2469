"""Options that several commands share: their types, and the machine that they mean."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import typer

from golden.tables.profiles import PROFILES
from openwmma.core_settings import DEFAULT_PROFILE, parse_settings
from openwmma.target import DEFAULT_BAUD, DEFAULT_PRESET, MachineKind, Target

_Result = TypeVar("_Result")

On = Annotated[
    MachineKind,
    typer.Option(
        "--on",
        help="The golden model, the simulated core, the core on a board, an NVIDIA GPU (cuda); in lockstep: "
        "the golden model and one of the others, whose results are compared.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
_PRESET = f"Configuration of the core, {DEFAULT_PRESET} by default; see `openwmma presets`."
Preset = Annotated[str | None, typer.Option("--preset", help=_PRESET)]
RunPreset = Annotated[str | None, typer.Option("--preset", help=f"{_PRESET} A board knows its own.")]
_PROFILE = f"Numerics of a generation: {', '.join(PROFILES)}."
Profile = Annotated[str | None, typer.Option("--profile", help=f"{_PROFILE} {DEFAULT_PROFILE} by default.")]
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
_FIELD = "A field of the preset to replace, as in shared_bytes=98304"
Fields = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help=f"{_FIELD}.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help=f"{_FIELD}; of simulated machines only."),
]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE.toml", help="Fields to replace, as lines of TOML; --set comes before them."
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

_MACHINE: Final[dict[str, tuple[Any, Any]]] = {
    "settings": (Settings, None),
    "config": (SettingsFile, None),
    "on": (On, MachineKind.GOLDEN),
    "preset": (RunPreset, None),
    "profile": (RunProfile, None),
    "waves": (Waves, None),
    "trace": (Trace, None),
    "port": (Port, None),
    "baud": (Baud, DEFAULT_BAUD),
    "gpu": (GpuNumber, None),
}
"""The options of a machine: type and default."""


def with_options(
    *without: str, on: MachineKind = MachineKind.GOLDEN
) -> Callable[[Callable[..., _Result]], Callable[..., _Result]]:
    """Make a decorator that replaces those parameters of a command that are dataclasses by options.

    A `Target` becomes the options of a machine, any other dataclass an option for each of its fields.

    Parameters
    ----------
    *without : str
        Options of a machine that the command lacks.
    on : MachineKind
        The default of ``--on``.
    """
    machine = {
        name: (annotation, on if name == "on" else default)
        for name, (annotation, default) in _MACHINE.items()
        if name not in without
    }

    def options_of(kind: Any) -> list[Parameter]:
        found: list[Parameter] = []
        own = {item.name: (item.type, item.default) for item in fields(kind)}
        for name, (annotation, default) in (machine if kind is Target else own).items():
            if is_dataclass(annotation):
                found += options_of(annotation)
            else:
                found.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation))
        return found

    def made(kind: Any, given: dict[str, Any]) -> Any:
        if kind is Target:
            values = {name: given.pop(name) for name in machine}
            settings = parse_settings(values.pop("settings"), values.pop("config", None))
            return Target(**values, settings=settings)
        parts = {item.name: item.type for item in fields(kind)}
        return kind(
            **{
                name: made(type_, given) if is_dataclass(type_) else given.pop(name)
                for name, type_ in parts.items()
            }
        )

    def decorate(command: Callable[..., _Result]) -> Callable[..., _Result]:
        parameters: list[Parameter] = []
        kinds: dict[str, Any] = {}
        for parameter in signature(command).parameters.values():
            if is_dataclass(parameter.annotation):
                kinds[parameter.name] = parameter.annotation
                parameters += options_of(parameter.annotation)
            else:
                parameters.append(parameter)

        @wraps(command)
        def with_objects(**given: Any) -> _Result:
            values = {name: made(kind, given) for name, kind in kinds.items()}
            return command(**given, **values)

        with_objects.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        with_objects.__annotations__ = {item.name: item.annotation for item in parameters}
        return with_objects

    return decorate
