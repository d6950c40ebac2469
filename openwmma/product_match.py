"""Which rule gives an observed matrix product."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.arguments import VALUES, dtype_of
from golden.invalid_argument import InvalidArgument
from golden.tables.formats import FORMATS
from openwmma.matrix_product import checked_operand, checked_types
from openwmma.product_chains import (
    INTERLEAVED_PRODUCTS,
    Accumulation,
    ProductRule,
    interleaved_places,
    part_lengths,
    product_of_bits,
)
from openwmma.product_epilogue import EpilogueArguments, native_array

_SPLITS: Final = (1, 2, 3, 4, 5, 6, 8, 16)
_INTERLEAVED: Final = range(2, 9)
_ORDERED: Final = 4
"""Up to so many interleaved parts, every order in which they may be added is tried."""
_CUT_STEP: Final = 8
"""Unaligned sizes run kernels of `m16n8k8`."""
_SHOWN: Final = 10
_SAMPLED: Final = 48
"""Rows and columns that a rule must reproduce before all are computed."""


@dataclass(frozen=True, kw_only=True)
class MatmulDifference:
    """One element of D."""

    row: int
    column: int
    observed: int
    computed: int
    """Bit patterns."""

    def __str__(self) -> str:
        return (
            f"row {self.row}, column {self.column}: observed {self.observed:#x}, computed {self.computed:#x}"
        )


@dataclass(frozen=True, kw_only=True)
class MatmulMatch:
    """The rule of a product; false where none was found."""

    parts: tuple[int, ...]
    """Lengths of the parts of k, `split_k` of `openwmma.matmul`; of the nearest rule where none was found."""
    accumulation: Accumulation
    order: tuple[int, ...] | None = None
    """Of interleaved parts the order in which they are added, `interleaved` of `openwmma.matmul`; the lengths
    have it too. Their number is `split_k`."""
    epilogue: str = ""
    """What follows the sums, in words; empty where nothing does."""
    count: int = 0
    """Elements that differ."""
    differences: tuple[MatmulDifference, ...] = ()
    """The first of them."""

    def __bool__(self) -> bool:
        return self.count == 0

    def __str__(self) -> str:
        chains = (
            "one chain" if len(self.parts) == 1 else f"{len(self.parts)} chains, of {self.parts} products"
        )
        if self.order is not None:
            order = ", ".join(map(str, self.order))
            chains = f"{len(self.parts)} interleaved chains, added in the order {order}"
        rule = f"{chains}, {self.accumulation} accumulation"
        if self.epilogue:
            rule += f"; then {self.epilogue}"
        if self:
            return f"equal in every bit: {rule}"
        head = f"no rule found; the nearest, {rule}, differs in {self.count} elements:"
        return "\n  ".join((head, *map(str, self.differences)))


def match_matmul(
    a: ArrayLike,
    b: ArrayLike,
    d: ArrayLike,
    *,
    a_type: str | None = None,
    b_type: str | None = None,
    d_type: str | None = None,
    bias: ArrayLike | None = None,
    c: ArrayLike | None = None,
    alpha: float = 1,
    beta: float = 1,
    activation: str | None = None,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    threads: int | None = None,
) -> MatmulMatch:
    """Find the rule, a split of k and an accumulation, by which `openwmma.matmul` gives D.

    Equal parts are tried first, up to 16, then for f64 interleaved parts, up to 8, then every cut in two at a
    multiple of 8.

    Parameters
    ----------
    a : array_like, shape (m, k)
    b : array_like, shape (k, n)
    d : array_like, shape (m, n)
        As observed: values, or raw bits of `d_type`. Its rows and columns may be samples of a larger product.
    a_type, b_type, d_type, bias, c, alpha, beta, activation, scale_a, scale_b, threads
        As for `openwmma.matmul`.

    Raises
    ------
    InvalidArgument
    """
    x, a_name, a_raw = checked_operand("a", a, a_type)
    y, b_name, b_raw = checked_operand("b", b, b_type)
    for name, operand in (("a", x), ("b", y)):
        if operand.ndim != 2:
            raise InvalidArgument(name, f"shape {operand.shape}", "two axes")
    types = a_name, b_name, checked_types(x, y, (a_name, b_name, d_type))
    given = EpilogueArguments(
        bias=bias, c=c, alpha=alpha, beta=beta, activation=activation, scale_a=scale_a, scale_b=scale_b
    )
    epilogue = given.checked(types, (len(x), y.shape[1]), raw=a_raw or b_raw)
    observed = _observed(d, types[2], (len(x), y.shape[1]))
    rows, columns = _spread(len(x)), _spread(y.shape[1])
    sampled, few = observed[np.ix_(rows, columns)], epilogue.part(rows, columns)

    def match(rule: ProductRule) -> MatmulMatch:
        whole = product_of_bits(x, y, rule, epilogue, threads)
        different = np.argwhere(whole != observed)
        return MatmulMatch(
            parts=rule.parts,
            accumulation=rule.accumulation,
            order=rule.order,
            epilogue=str(epilogue),
            count=len(different),
            differences=tuple(
                MatmulDifference(
                    row=int(i), column=int(j), observed=int(observed[i, j]), computed=int(whole[i, j])
                )
                for i, j in different[:_SHOWN]
            ),
        )

    wrong: dict[ProductRule, int] = {}
    for rule in _rules(x.shape[1], types):
        few_wrong = product_of_bits(x[rows], y[:, columns], rule, few, threads) != sampled
        wrong[rule] = int(np.count_nonzero(few_wrong))
        if not wrong[rule] and (found := match(rule)):
            return found
    return match(min(wrong, key=wrong.__getitem__))


def _observed(d: ArrayLike, d_name: str, shape: tuple[int, int]) -> NDArray[Any]:
    array = native_array("d", d)
    wanted, values = dtype_of(FORMATS[d_name]), VALUES.get(d_name)
    if array.dtype.name == values:
        array = array.view(wanted)
    if array.dtype != wanted:
        allowed = f"{wanted} (bits of {d_name})" + (f" or {values}" if values else "")
        raise InvalidArgument("d", f"dtype {array.dtype}", allowed)
    if array.shape != shape:
        raise InvalidArgument("d", f"shape {array.shape}", f"{shape}, of the product of a and b")
    return array


def _spread(count: int) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, max(count - 1, 0), min(count, _SAMPLED)).astype(np.intp))


def _rules(depth: int, types: tuple[str, str, str]) -> Iterator[ProductRule]:
    fp8 = types[0] in ("e4m3", "e5m2")
    accumulations: tuple[Accumulation, ...] = ("fast", "precise") if fp8 else ("fast",)
    rules = [
        ProductRule(types=types, parts=(depth,), accumulation=accumulation) for accumulation in accumulations
    ]
    seen = set()
    for split in _SPLITS:
        parts = part_lengths(depth, min(split, max(depth, 1)))
        if parts not in seen:
            seen.add(parts)
            yield from (replace(rule, parts=parts) for rule in rules)
    if types[0] == "f64":
        yield from (replace(rules[0], parts=parts, order=order) for parts, order in _interleaved(depth))
    for cut in range(_CUT_STEP, depth, _CUT_STEP):
        if (cut, depth - cut) not in seen:
            yield from (replace(rule, parts=(cut, depth - cut)) for rule in rules)


def _interleaved(depth: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Interleaved parts, added in ascending order or in any other; the first two may change places."""
    for split in _INTERLEAVED:
        if depth < split * INTERLEAVED_PRODUCTS:
            return
        ascending = tuple(range(split))
        orders = permutations(ascending) if split <= _ORDERED else [ascending]
        for order in orders:
            if order[0] < order[1]:
                yield interleaved_places(depth, split, order)[1], order
