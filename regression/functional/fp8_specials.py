"""Coverpoint of infinities and NaN in multiplies of fp8: what makes a result that is not finite."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.arrays import decode
from golden.tables.formats import float_format
from golden.tables.instruction_set import Use
from golden.tables.matrix_instructions import MmaInstruction
from regression.functional.fp8_sums import PAIRS, RESULTS, pair_of
from regression.functional.model import Seen, bin_name, count_codes, coverpoint

__all__ = ["POINTS", "sample_fp8_specials"]

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


def _impossible(unit: str, pair: str, result: str, cause: str) -> str | None:
    del unit, result
    of_multiplicands = cause.startswith(("infinity", "infinite product"))
    if of_multiplicands and not any(float_format(name).has_infinity for name in pair.split(".")):
        return "e4m3 has no infinity"
    return None


POINTS: Final = (
    coverpoint(
        "fp8 special value",
        "What makes an element of a multiply of fp8 infinite or NaN, sums beyond the largest number aside.",
        {"unit": ("wgmma", "mma"), "types": PAIRS, "result": RESULTS, "cause": _CAUSES},
        _impossible,
    ),
)


def sample_fp8_specials(
    seen: Seen, instruction: MmaInstruction, matrices: Mapping[Use, NDArray[Any]]
) -> None:
    """Note why elements are not finite."""
    a = decode(matrices["a"], float_format(instruction.a_type))
    b = decode(matrices["b"], float_format(instruction.b_type))
    c = decode(matrices["c"], float_format(instruction.c_type))
    with np.errstate(invalid="ignore"):
        products = a.float64()[:, :, None] * b.float64()[None]
    nan = np.any(a.nan, axis=1, keepdims=True) | np.any(b.nan, axis=0, keepdims=True)
    up, down = (products == np.inf).any(axis=1), (products == -np.inf).any(axis=1)
    against = np.where(c.negative, up, down) & c.infinite
    conditions = [nan, c.nan, np.isnan(products).any(axis=1), up & down, against, up | down, c.infinite]
    codes = np.select(conditions, list(range(len(_CAUSES))), len(_CAUSES))
    prefix = (instruction.mnemonic, pair_of(instruction), instruction.d_type)
    count_codes(seen, "fp8 special value", [bin_name(*prefix, cause) for cause in _CAUSES], codes)
