"""The instruction set and the profiles as JSON, for the choices that a page offers."""

from typing import Any

from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import FAMILIES, WGMMA_FAMILIES, Family
from golden.tables.profiles import EXACT_PROFILES, PROFILES


def instruction_tables() -> dict[str, Any]:
    """Families of instructions, formats and profiles.

    Returns
    -------
    dict
        ``families``, ``formats``, and ``profiles`` with the families (by position) that each executes.
    """
    families = [*FAMILIES, *WGMMA_FAMILIES]
    profiles = [
        {
            "name": profile.name,
            "exact": False,
            "families": [index for index, family in enumerate(families) if profile.executes(family)],
            "fractionBits": profile.fraction_bits,
            "measured": profile.name == "hopper",
        }
        for profile in PROFILES.values()
    ]
    everything = list(range(len(families)))
    profiles += [
        {"name": name, "exact": True, "families": everything, "fractionBits": None, "measured": False}
        for name in EXACT_PROFILES
    ]
    return {
        "families": [_family(family) for family in families],
        "formats": {name: _format(name) for name in FORMATS},
        "profiles": profiles,
    }


def _family(family: Family) -> dict[str, Any]:
    return {
        "mnemonic": family.mnemonic,
        "shapes": [{"text": str(shape), "m": shape.m, "n": shape.n, "k": shape.k} for shape in family.shapes],
        "multiplicands": family.multiplicands,
        "mixed": family.mixed,
        "accumulators": family.accumulators,
        "sameAccumulators": family.same_accumulators,
        "fixedLayout": family.fixed_layout,
        "saturate": family.saturate,
        "roundings": family.roundings,
        "operations": family.operations,
    }


def _format(name: str) -> dict[str, Any]:
    format = FORMATS[name]
    if isinstance(format, FloatFormat):
        return {
            "float": True,
            "bits": format.bits,
            "exponentBits": format.exponent_bits,
            "fractionBits": format.fraction_bits,
        }
    return {"float": False, "bits": format.bits, "minimum": format.minimum, "maximum": format.maximum}
