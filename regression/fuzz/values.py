"""What fuzzing draws from: words, kernels, and values as Python expressions, which a person can read."""

import re
import tomllib
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from regression.identity import ROOT

WORDS: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("words.toml").read_text())
"""Lists of words by the language they belong to, and tables of them."""

LONG: Final = (
    "x" * 3000,
    "9" * 4400,
    "0x" + "f" * 3000,
    "(" * 3000 + "1",
    "[" * 5000,
    '{"a":' * 2000,
    "{" * 30_000,
)
"""Text that is long or deeply nested, for any language."""

HEADER: Final = ".version 8.0\n.target sm_90\n.address_size 64\n"

LAUNCH_PTX: Final = Path(__file__).with_name("launch.ptx").read_text()
"""A kernel with an array, numbers, a structure and a variable."""

PROGRAM_PTX: Final = (ROOT / "examples" / "tile_f16.ptx").read_text()
"""A program of one warp."""


@cache
def kernels() -> tuple[str, ...]:
    """Each kernel of the repository's PTX as a module of its own, with the variables of its module."""
    found = [LAUNCH_PTX]
    for folder in (
        "examples",
        "tests/data/kernels",
        "site/pages/core/programs",
        "docs/tutorials/labs",
        "bench/data",
    ):
        for path in sorted((ROOT / folder).rglob("*.ptx")):
            text = path.read_text()
            header = "\n".join(
                re.findall(r"^\.(?:version|target|address_size|extern|global|const|shared).*$", text, re.M)
            )
            bodies = re.findall(r"^(?:\.visible )?\.entry.*?^\}$", text, re.MULTILINE | re.DOTALL)
            found += [f"{header}\n{body}\n" for body in bodies]
    return tuple(found)


class OddError(Exception):
    """What the methods of an odd object raise; it may reach the caller."""


class _Odd:
    """An object with one special method that gives any value, or raises `OddError`."""

    def __repr__(self) -> str:
        return "<odd object>"


def special(method: str, *value: Any) -> _Odd:
    """An odd object whose special method gives the value; without one, it raises."""

    def give(self: object, *arguments: Any, **keywords: Any) -> Any:
        if not value:
            raise OddError(method)
        return value[0]

    odd_class: type[_Odd] = type("_Odd", (_Odd,), {f"__{method}__": give})
    return odd_class()


def endless() -> Any:
    """A list that contains itself."""
    found: list[Any] = []
    found.append(found)
    return found


def cast(content: Any, dtype: Any) -> NDArray[Any]:
    """Contents as another type; zeros where numpy has no conversion."""
    with np.errstate(all="ignore"):
        try:
            return np.asarray(content).astype(dtype)
        except (TypeError, ValueError):
            return np.zeros(np.shape(content), dtype)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The array, not to be written."""
    array.flags.writeable = False
    return array


def strided(array: NDArray[Any]) -> NDArray[Any]:
    """The array as every second column of another one."""
    wide = np.repeat(array, 2, axis=-1) if array.ndim else array
    return wide[..., ::2] if array.ndim else wide


_WAYS: Final = {
    "swapped": lambda array: array.astype(array.dtype.newbyteorder(">")),
    "fortran": np.asfortranarray,
    "backwards": lambda array: array[..., ::-1] if array.ndim else array,
    "listed": lambda array: array.tolist(),
    "read_only": read_only,
    "strided": strided,
}

NAMES: Final = {
    "cast": cast,
    "special": special,
    "endless": endless,
    "ml_dtypes": ml_dtypes,
    "np": np,
    "Path": Path,
    "Fraction": Fraction,
    "Decimal": Decimal,
    **_WAYS,
}
"""What the expressions use."""

_CORNERS: Final = [
    *(0, 1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 255, 256, 1023, 1024, 1025, 65535, 65536),
    *(sign * (1 << bits) + step for bits in (31, 32, 63, 64, 128) for sign in (1, -1) for step in (-1, 0)),
    *(-1, -2, 10**30, 10**400),
]


def number(random: Random) -> str:
    """An integer or a float, often a corner, also as a numpy scalar or an array without axes."""
    value = repr(random.choice(_CORNERS)) if random.random() < 0.7 else random.choice(WORDS["floats"])
    way = random.randrange(8)
    if way == 0:
        return f"np.array({value})"
    kind = random.choice(WORDS["scalars"])
    if way == 1:
        return (
            f"cast({value[:300]}, '{kind}')[()]" if "float" in kind else f"np.{kind}({random.randrange(99)})"
        )
    return value


def text(random: Random) -> str:
    """A string."""
    return repr(random.choice((*WORDS["strings"], LONG[0], "\ud800")))


def shape(random: Random, most: int = 4) -> tuple[int, ...]:
    """A shape of few elements."""
    return tuple(random.choice((0, 1, 1, 2, 3, 4, 8)) for _ in range(random.randrange(most)))


def array(random: Random, extents: tuple[int, ...] | None = None, dtype: str | None = None) -> str:
    """An array of drawn contents, order of axes, strides and byte order; its shape and type if not given."""
    extents = shape(random) if extents is None else extents
    named = [f"ml_dtypes.{name}" for name in WORDS["ml_dtypes"]]
    dtype = dtype or (repr(random.choice(WORDS["dtypes"])) if random.random() < 0.8 else random.choice(named))
    base = f"np.random.default_rng({random.randrange(1000)})"
    content = random.choice(
        (
            f"{base}.integers(-2, 3, {extents})",
            f"{base}.integers(-2, 3, {extents})",
            f"({base}.standard_normal({extents}) * 2.0 ** {random.randrange(-20, 20)})",
            f"np.full({extents}, {random.choice(('0', '1', 'np.nan', 'np.inf', '-0.0', '6e4', '1e-42'))})",
        )
    )
    made = f"cast({content}, {dtype})"
    return f"{random.choice(('', '', '', *_WAYS))}({made})"


def odd(random: Random) -> str:
    """Any value at all."""
    way = random.choice((number, text, array, _listed, None, None))
    return way(random) if way else random.choice(WORDS["values"])


def _listed(random: Random) -> str:
    return f"[{', '.join(odd(random) for _ in range(random.randrange(3)))}]"


def number_text(random: Random) -> str:
    """A number as a text format may write it: corners, other bases, expressions, thousands of digits."""
    value = random.choice(_CORNERS)
    other_bases = (hex(value), bin(value)[:200], f"0{abs(value) % 100:o}")
    written = (str(value), str(value), *other_bases, f"{value % 999}.25")
    return random.choice((*written, *LONG[1:4])) if random.random() < 0.6 else random.choice(WORDS["numbers"])
