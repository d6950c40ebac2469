"""A preset with other fields (`--set`, `--config`) or the arithmetic of a generation (`--profile`)."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from golden.integers import integer_of, parsed_integer, quoted, shortened
from golden.tables.profiles import PROFILES, Profile
from hdl.config import PRESETS, CoreConfig, DotProductConfig
from openwmma.input_files import require_input
from openwmma.usage_error import UsageError

DEFAULT_PROFILE: Final = "hopper"

_MAX_BITS: Final = 64
"""Of an integer in a configuration."""


def adjusted_config(preset: str, settings: Mapping[str, object] = MappingProxyType({})) -> CoreConfig:
    """A preset of `hdl.config.PRESETS` with single fields replaced.

    `settings` has names of fields of `CoreConfig` or `DotProductConfig`. A value is what the field takes, or
    text: a number, the name of a profile, formats with commas between them. UsageError for an unknown preset
    or field, and for a value that the field or the configuration does not take.
    """
    if preset not in PRESETS:
        raise UsageError(f"preset {preset}: expected one of {', '.join(PRESETS)}")
    values = _values(settings)
    unit = {name: value for name, value in values.items() if name in _UNIT_FIELDS}
    whole = {name: value for name, value in values.items() if name not in _UNIT_FIELDS}
    config = PRESETS[preset]
    try:
        if unit:
            formats = config.dot_product
            if "profile" in unit and "formats" not in unit:
                formats = preset_formats(formats, preset, unit["profile"])
            whole["dot_product"] = replace(formats, **unit)
        return replace(config, **whole)
    except ValueError as error:
        given = ", ".join(f"{name}={shortened(value)}" for name, value in settings.items())
        raise UsageError(f"{preset} with {given}: {error}") from None


def parse_settings(texts: list[str] | None, file: Path | None = None) -> dict[str, object]:
    """Split each ``NAME=VALUE``; they come before what a TOML file has for the same name.

    UsageError for a text of another form, a name twice, and a file that is no TOML.
    """
    settings: dict[str, object] = {}
    for text in texts or []:
        name, separator, value = text.partition("=")
        if not separator or not name or not value:
            raise UsageError(f"--set {text}: expected NAME=VALUE, as in shared_bytes=98304")
        if name in settings:
            raise UsageError(f"--set {name}: expected once, not twice")
        settings[name] = value
    if file is None:
        return settings
    require_input(file, f"--config {file}: expected a file in TOML")
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"--config {file}: expected a file in TOML ({reason})") from None
    try:
        _values(found)
    except UsageError as error:
        raise UsageError(f"--config {file}: {error}") from None
    return found | settings


def presets_with_shared(count: int) -> tuple[str, ...]:
    """The presets that have at least so many bytes of shared memory."""
    return tuple(name for name, config in PRESETS.items() if config.shared_bytes >= count)


def require_profile(name: str) -> None:
    """UsageError for a name that no profile has."""
    if name not in PROFILES:
        raise UsageError(f"--profile {name}: expected one of {', '.join(PROFILES)}")


def with_profile(config: CoreConfig, preset: str, profile: str) -> CoreConfig:
    """A configuration with the arithmetic of a generation, by the name of its profile.

    The formats of a preset are without fp8 where the profile lacks it, as all but `hopper` and
    `blackwell` do: the preset is still of use, and its core refuses multiplies of fp8. UsageError for an
    unknown name, and for a profile that lacks another format of the configuration.
    """
    require_profile(profile)
    config = replace(config, dot_product=preset_formats(config.dot_product, preset, PROFILES[profile]))
    absent = [format for format in sorted(config.dot_product.formats) if not _computes(profile, format)]
    if absent:
        raise UsageError(
            f"--profile {profile}: preset {preset} has {' and '.join(absent)}, "
            f"which profile {profile} lacks; expected another profile or another preset"
        )
    return replace(config, dot_product=replace(config.dot_product, profile=PROFILES[profile]))


def preset_formats(unit: DotProductConfig, preset: str, profile: Profile) -> DotProductConfig:
    """Leave out fp8 where a profile lacks it and nobody asked for other formats than the preset's."""
    has_fp8 = profile.fp8_block is not None or profile.narrow_block is not None
    if has_fp8 or unit.formats != PRESETS[preset].dot_product.formats:
        return unit
    return replace(unit, formats=unit.formats - {"fp8"})


def _computes(profile: str, format: str) -> bool:
    """Whether a dot-product unit with the profile can multiply the format."""
    try:
        DotProductConfig(formats=frozenset({format}), profile=PROFILES[profile])
    except ValueError:
        return False
    return True


def _values(settings: Mapping[str, object]) -> dict[str, Any]:
    """The values as their fields take them."""
    for name in settings:
        if name not in _KINDS:
            raise UsageError(f"setting {name}: expected one of {', '.join(_KINDS)}")
    return {name: _KINDS[name](name, value) for name, value in settings.items()}


def _integer(name: str, value: object) -> int:
    try:
        number = parsed_integer(value) if isinstance(value, str) else integer_of(value)
    except OverflowError:
        number = None
    if number is None or number.bit_length() > _MAX_BITS:
        raise UsageError(f"setting {name}: expected an integer, not {quoted(value)}")
    return number


def _flag(name: str, value: object) -> bool:
    found = {"true": True, "false": False}.get(str(value).lower())
    if found is None:
        raise UsageError(f"setting {name}: expected true or false, not {quoted(value)}")
    return found


def _formats(name: str, value: object) -> frozenset[str]:
    if isinstance(value, str):
        return frozenset(value.split(","))
    if isinstance(value, list | tuple | set | frozenset):
        return frozenset(str(item) for item in value)
    raise UsageError(f"setting {name}: expected names of formats, not {quoted(value)}")


def _profile(name: str, value: object) -> Profile:
    if isinstance(value, Profile):
        return value
    if not isinstance(value, str) or value not in PROFILES:
        raise UsageError(f"setting {name}: expected one of {', '.join(PROFILES)}, not {quoted(value)}")
    return PROFILES[value]


_UNIT_FIELDS: Final = tuple(field.name for field in fields(DotProductConfig))
_KINDS: Final[Mapping[str, Callable[[str, object], object]]] = {
    **{
        field.name: _flag if field.type is bool else _integer
        for field in (*fields(CoreConfig), *fields(DotProductConfig))
        if field.name != "dot_product"
    },
    "formats": _formats,
    "profile": _profile,
}
