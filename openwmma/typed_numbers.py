"""Numbers with their type: ``f16:0.5`` on the command line, type and value in a launch file."""

import math
import re
from typing import Any, Final

import numpy as np

from golden.integers import integer_of, shortened

_TYPE: Final = re.compile(r"(?P<kind>[su])(?P<bits>8|16|32|64)|f(?P<float>16|32|64)")


def typed_number(type_: str, value: object) -> np.generic:
    """A number as a numpy scalar of a type.

    Parameters
    ----------
    type_ : str
        s or u with 8, 16, 32 or 64 bits, f with 16, 32 or 64.
    value : int or float

    Raises
    ------
    ValueError
        For another type, for a value that is no number of that kind, and one that the type does not have.
    """
    match = _TYPE.fullmatch(type_)
    if match is None:
        raise ValueError(f"type {shortened(type_)}: expected s, u or f with 8, 16, 32 or 64 bits")
    integer = integer_of(value)
    if match["float"] is None:
        bits = int(match["bits"])
        least = -(1 << bits - 1) if match["kind"] == "s" else 0
        if integer is None or not least <= integer < least + (1 << bits):
            raise ValueError(f"{type_} cannot hold {shortened(value)}")
        return _scalar(f"{'i' if match['kind'] == 's' else 'u'}{bits // 8}", integer)
    if integer is None and not isinstance(value, float):
        raise ValueError(f"{type_} cannot hold {shortened(value)}")
    try:
        number = float(value)  # type: ignore[arg-type]
    except OverflowError:
        number = math.inf
    with np.errstate(over="ignore"):
        result = _scalar(f"f{int(match['float']) // 8}", number)
    if np.isinf(result) and (integer is not None or not math.isinf(number)):
        raise ValueError(f"{type_} cannot hold {shortened(value)}")
    return result


def _scalar(dtype: str, value: Any) -> np.generic:
    found: np.generic = np.dtype(dtype).type(value)
    return found
