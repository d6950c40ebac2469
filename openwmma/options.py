"""Options that several commands share: their types, and the machine that they mean."""

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from golden.tables.profiles import PROFILES
from openwmma.core_settings import DEFAULT_PROFILE, parse_settings
from openwmma.target import DEFAULT_BAUD, DEFAULT_PRESET, MachineKind, Target

_Result = TypeVar("_Result")

Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
_PRESET = f"Configuration of the core, {DEFAULT_PRESET} by default; see `openwmma presets`."
Preset = Annotated[str | None, typer.Option("--preset", help=_PRESET)]
_PROFILE = f"Numerics of a generation: {', '.join(PROFILES)}."
Profile = Annotated[str | None, typer.Option("--profile", help=f"{_PROFILE} {DEFAULT_PROFILE} by default.")]
_FIELD = "A field of the preset to replace, as in shared_bytes=98304"
Fields = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help=f"{_FIELD}.")]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE.toml", help="Fields to replace, as lines of TOML; --set comes before them."
    ),
]


@dataclass
class _Machine:
    """The options of a machine."""

    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help=f"{_FIELD}; of simulated machines only."),
    ] = None
    config: SettingsFile = None
    on: Annotated[
        MachineKind,
        typer.Option(
            help="The golden model, the simulated core, the core on a board, an NVIDIA GPU (cuda); in "
            "lockstep: the golden model and one of the others, whose results are compared."
        ),
    ] = MachineKind.GOLDEN
    preset: Annotated[str | None, typer.Option(help=f"{_PRESET} A board knows its own.")] = None
    profile: Annotated[
        str | None, typer.Option(help=f"{_PROFILE} {DEFAULT_PROFILE} by default; a board knows its own.")
    ] = None
    waves: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.fst", help="Write a waveform of the simulated core, and layouts for its viewers."
        ),
    ] = None
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            help="Write what each unit of the simulated core does with each command, for Perfetto or Chrome.",
        ),
    ] = None
    port: Annotated[
        str | None,
        typer.Option(
            metavar="DEVICE",
            help="Serial port of the board, as in /dev/ttyUSB0; in lockstep it takes the simulated core's "
            "place.",
        ),
    ] = None
    baud: Annotated[int, typer.Option(min=1, help="Bits per second that the board was built for.")] = (
        DEFAULT_BAUD
    )
    gpu: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Which NVIDIA GPU, from 0 on; in lockstep it takes the simulated core's place.",
        ),
    ] = None


def with_options(
    *without: str, on: MachineKind = MachineKind.GOLDEN
) -> Callable[[Callable[..., _Result]], Callable[..., _Result]]:
    """Make a decorator that replaces those parameters of a command that are dataclasses by options.

    A `Target` becomes the options of a machine, but for those in `without`, with the default `on` of
    ``--on``; any other dataclass an option for each of its fields.
    """
    machine = [item.name for item in fields(_Machine) if item.name not in without]

    def options_of(kind: Any) -> list[Parameter]:
        found: list[Parameter] = []
        for item in fields(_Machine if kind is Target else kind):
            if is_dataclass(item.type):
                found += options_of(item.type)
            elif kind is not Target or item.name in machine:
                default = on if kind is Target and item.name == "on" else item.default
                option = Parameter.KEYWORD_ONLY
                found.append(Parameter(item.name, option, default=default, annotation=item.type))
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
