"""Coverpoint of infinities and NaN: what makes an element that is not finite."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.arrays import decode
from golden.tables.formats import float_format
from golden.tables.instruction_set import Use
from golden.tables.matrix_instructions import MmaInstruction
from regression.functional.model import Seen, bin_name, count_codes, coverpoint
from regression.functional.sums import is_fused
from regression.random_programs.choices import multiplies_of

_CAUSES: Final = (
    "NaN multiplicand",
    "NaN addend",
    "infinity times zero",
    "infinite products of both signs",
    "infinite product and addend of other sign",
    "infinite product",
    "infinite addend",
)
"""The first one that an element has counts."""


def _name(instruction: MmaInstruction) -> str:
    types = f"{instruction.a_type}.{instruction.b_type} + {instruction.c_type} to {instruction.d_type}"
    return f"{instruction.mnemonic} {types}"


_MULTIPLIES: Final = {_name(item): item for item in multiplies_of() if is_fused(item)}


def _impossible(name: str, cause: str) -> str | None:
    types = _MULTIPLIES[name].a_type, _MULTIPLIES[name].b_type
    of_multiplicands = cause.startswith(("infinity", "infinite product"))
    if of_multiplicands and not any(float_format(type).has_infinity for type in types):
        return "e4m3 has no infinity"
    return None


POINTS: Final = (
    coverpoint(
        "special value",
        "What makes an element infinite or NaN, sums beyond the largest number aside.",
        {"multiply": tuple(_MULTIPLIES), "cause": _CAUSES},
        _impossible,
    ),
)


def sample_specials(seen: Seen, instruction: MmaInstruction, matrices: Mapping[Use, NDArray[Any]]) -> None:
    """Note why elements are not finite, of a multiply for which `is_fused`."""
    a, b, c = (decode(matrices[use], float_format(instruction.types[use])) for use in ("a", "b", "c"))
    with np.errstate(invalid="ignore"):
        products = a.float64()[:, :, None] * b.float64()[None]
    nan = np.any(a.nan, axis=1, keepdims=True) | np.any(b.nan, axis=0, keepdims=True)
    up, down = (products == np.inf).any(axis=1), (products == -np.inf).any(axis=1)
    against = np.where(c.negative, up, down) & c.infinite
    conditions = [nan, c.nan, np.isnan(products).any(axis=1), up & down, against, up | down, c.infinite]
    codes = np.select(conditions, list(range(len(_CAUSES))), len(_CAUSES))
    bins = [bin_name(_name(instruction), cause) for cause in _CAUSES]
    count_codes(seen, "special value", bins, codes)
