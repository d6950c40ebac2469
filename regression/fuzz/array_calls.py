"""Calls with arrays of any form, whose results must not depend on the form."""

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any, Final, Literal

import numpy as np

import golden
import openwmma
from golden.approximation.instructions import FORMS
from golden.tables.formats import FORMATS
from golden.tables.matrix_instructions import MmaInstruction
from regression.fuzz.kind import PropertyError, digest
from regression.fuzz.values import array, shape
from regression.random_programs.choices import multiplies_of


@cache
def multiplies() -> tuple[MmaInstruction, ...]:
    """Every multiply."""
    return multiplies_of()


def same(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result; PropertyError unless it is the one for native C-contiguous copies of the arguments."""
    found = function(*arguments)
    plain = function(*map(_plain, arguments))
    if digest(found) != digest(plain):
        rule = f"{getattr(function, '__name__', function)} gives one result for arrays of one content"
        raise PropertyError(rule, f"{found!r} for an array, {plain!r} for its plain copy")
    return found


def _plain(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    return np.array(value, dtype=value.dtype.newbyteorder("="), order="C", copy=True, subok=False)


def through_device(values: Any) -> np.ndarray:
    """An array into device memory and back, in native byte order."""
    return np.asarray(_plain(openwmma.device(values).numpy()))


def through_fragment(matrix: Any, *fragment: str) -> np.ndarray:
    """A matrix into the registers of a warp and back."""
    return golden.collect(golden.distribute(matrix, *fragment), *fragment)  # type: ignore[arg-type]


_USES: Final[tuple[Literal["a", "b", "c", "d"], ...]] = ("a", "b", "c", "d")


def array_call(random: Random) -> str:
    """A call with arrays whose shapes and types fit as a rule."""
    way = random.random()
    if way < 0.15:
        return f"same(through_device, {array(random)})"
    if way < 0.35:
        form = random.choice(list(FORMS))
        bits = f"u{FORMS[form].bits // 8}"
        element = {"bf16": "ml_dtypes.bfloat16"}.get(
            FORMS[form].element, repr(FORMS[form].element.replace("f", "float"))
        )
        extents = (*shape(random), 2)
        kinds = [random.choice((repr(bits), element, element, None)) for _ in range(FORMS[form].operands)]
        written = [array(random, random.choice((extents, (2,))), kind) for kind in kinds]
        return f"same(golden.approximate, {form!r}, {', '.join(written)})"
    instruction = random.choice(multiplies())
    if way < 0.45:
        use = random.choice(_USES)
        name = getattr(instruction, f"{use}_type")
        extents = instruction.shape.extent(use)
        matrix = array(random, extents, _fitting(random, name))
        return f"same(through_fragment, {matrix}, {use!r}, {name!r}, {str(instruction.shape)!r})"
    leading = random.choice(((), (), (1,), (2,), (0,), (2, 1)))
    raw = random.random() < 0.3
    operands = []
    for use in _USES[:3]:
        extents = (*leading, *instruction.shape.extent(use))
        if random.random() < 0.05:
            extents = shape(random)
        kind = _fitting(random, getattr(instruction, f"{use}_type"), raw=raw)
        operands.append(array(random, extents, kind if random.random() < 0.95 else None))
    return f"same(golden.mma, {str(instruction)!r}, {', '.join(operands)})"


def _fitting(random: Random, name: str, *, raw: bool = False) -> str:
    """A dtype for a number format."""
    values = {
        "f16": "'f2'",
        "bf16": "ml_dtypes.bfloat16",
        "tf32": "'f4'",
        "f32": "'f4'",
        "f64": "'f8'",
        "e4m3": "ml_dtypes.float8_e4m3fn",
        "e5m2": "ml_dtypes.float8_e5m2",
    }
    if name not in values:
        return random.choice(("'i4'", "'i4'", "'i8'", "'i1'")) if name != "s32" else "'i4'"
    return f"'u{FORMATS[name].bits // 8 if name != 'tf32' else 4}'" if raw else values[name]
