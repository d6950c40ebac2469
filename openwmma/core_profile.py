"""The numerics profile of a core: the arithmetic of a generation on the sizes of a preset."""

from dataclasses import replace
from typing import Final

from golden.tables.profiles import PROFILES, Profile
from hdl.config import PRESETS, CoreConfig, DotProductConfig
from openwmma.usage_error import UsageError

DEFAULT_PROFILE: Final = "hopper"


def require_profile(name: str) -> None:
    """UsageError for a name that no profile has."""
    if name not in PROFILES:
        raise UsageError(f"--profile {name}: expected one of {', '.join(PROFILES)}")


def with_profile(config: CoreConfig, preset: str, profile: str) -> CoreConfig:
    """A configuration with the arithmetic of a generation.

    The formats of a preset are without fp8 where the profile lacks it, as all but `DEFAULT_PROFILE` do: the
    preset is still of use, and its core refuses multiplies of fp8.

    Parameters
    ----------
    config : CoreConfig
    preset : str
        Name of its preset, for messages.
    profile : str
        Of `golden.tables.profiles.PROFILES`.

    Raises
    ------
    UsageError
        For an unknown name, and for a profile that lacks a format of the configuration.
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
    if profile.fp8_block is not None or unit.formats != PRESETS[preset].dot_product.formats:
        return unit
    return replace(unit, formats=unit.formats - {"fp8"})


def _computes(profile: str, format: str) -> bool:
    """Whether a dot-product unit with the profile can multiply the format."""
    try:
        DotProductConfig(formats=frozenset({format}), profile=PROFILES[profile])
    except ValueError:
        return False
    return True
