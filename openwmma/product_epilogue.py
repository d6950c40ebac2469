"""What follows a matrix product: alpha, beta and C, bias, scales, an activation, and the rounding of D.

The rules, and how they were measured: ``docs/explanation/matrix-products.md``.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.arguments import VALUES, dtype_of
from golden.arithmetic.arrays import convert, fma
from golden.host_arrays import host_array
from golden.integers import checked_text, quoted, shortened
from golden.invalid_argument import InvalidArgument
from golden.tables.formats import FORMATS, FloatFormat, float_format

_HALVES: Final = ("f16", "bf16")
_FP8: Final = ("e4m3", "e5m2")
_LARGEST_E4M3: Final = 448

Bits = NDArray[Any]
Place = slice | NDArray[np.intp]


def native_array(argument: str, given: ArrayLike) -> NDArray[Any]:
    """The array that a caller handed in, in native byte order; InvalidArgument for what is none."""
    try:
        array = host_array(given)
    except (TypeError, BufferError, RuntimeError, ValueError, OverflowError) as error:
        raise InvalidArgument(argument, f"{given.__class__.__name__} ({error})", "an array") from None
    return array.astype(array.dtype.newbyteorder("="), copy=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Epilogue:
    """What is done with the sums of a product; made by `EpilogueArguments.checked`."""

    a_type: str
    d_type: str
    alpha: Bits
    beta: Bits
    """Single bit patterns of the sums' format."""
    addend: Bits | None = None
    """Likewise, shape (..., m, n): C or the bias; None also where beta is zero."""
    row: bool = False
    """Whether the addend is a row."""
    scales: tuple[Bits, Bits] | None = None
    """Shapes (..., m or 1, 1) and (..., 1, n or 1)."""
    by_row: bool = False
    """Whether there is a scale for each row and each column."""
    relu: bool = False

    @property
    def sums(self) -> FloatFormat:
        """Format of the sums of products."""
        return float_format("f64" if self.d_type == "f64" else "f32")

    def at(self, index: tuple[int, ...]) -> "Epilogue":
        """Of one matrix of a batch."""
        addend = None if self.addend is None else self.addend[index]
        scales = None if self.scales is None else (self.scales[0][index], self.scales[1][index])
        return replace(self, addend=addend, scales=scales)

    def part(self, rows: Place, columns: Place) -> "Epilogue":
        """Of some rows and columns of a single matrix."""
        addend = None if self.addend is None else self.addend[rows][:, columns]
        scales = self.scales
        if scales is not None and self.by_row:
            scales = scales[0][rows], scales[1][:, columns]
        return replace(self, addend=addend, scales=scales)

    def finish(self, total: Bits, *, one_chain: bool) -> Bits:
        """D of the sums of a matrix; `one_chain` where k was not cut.

        The kernel that adds the parts has an order of its own.
        """
        if self.d_type == "s32":
            return total
        found = self._with_addend(total, self._scaled(total, one_chain), one_chain)
        if self.relu:
            found = np.where(
                self._passes_relu(found.view(VALUES[self.sums.name])), found, found.dtype.type(0)
            )
        return self._rounded(found)

    def _passes_relu(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Which numbers stay; NaN and negative zero differ between the kernels."""
        in_kernel = self.addend is not None and self._is_one(self.beta) and self.a_type not in _FP8
        if in_kernel and self.a_type == "tf32":
            stay = values > 0
        else:
            stay = ~(values < 0) if in_kernel else ~(values <= 0)
        return np.asarray(stay)

    def _scaled(self, total: Bits, one_chain: bool) -> Bits:
        if self.scales is not None:
            rows, columns = self.scales
            if self.by_row:
                return self._product(rows, self._product(columns, total))
            return self._multiply_add(self._product(rows, columns), total, self._bits(0.0))
        if self._is_one(self.alpha):
            return total
        adds_zero = one_chain and self.a_type in _HALVES
        return self._multiply_add(self.alpha, total, self._bits(0.0 if adds_zero else -0.0))

    def _with_addend(self, total: Bits, scaled: Bits, one_chain: bool) -> Bits:
        if self.addend is None:
            return scaled
        narrow = self.a_type in _HALVES or self.a_type in _FP8
        if narrow and self._is_one(self.beta):
            if one_chain and not self.row:
                scaled = self.widened(self._rounded(scaled), self.d_type)
            return self._multiply_add(self.beta, self.addend, scaled)
        if one_chain:
            return self._multiply_add(self.alpha, total, self._product(self.beta, self.addend))
        return self._multiply_add(self.beta, self.addend, scaled)

    def _rounded(self, found: Bits) -> Bits:
        d_format = float_format(self.d_type)
        if d_format == self.sums:
            return found
        if self.d_type == "e4m3":
            found = np.clip(found.view(np.float32), -_LARGEST_E4M3, _LARGEST_E4M3).view(np.uint32)
        return convert(found, self.sums, d_format)

    def widened(self, found: Bits, type_: str) -> Bits:
        """Numbers of a type in the format of the sums."""
        return found if type_ == self.sums.name else convert(found, float_format(type_), self.sums)

    def _multiply_add(self, a: Bits, b: Bits, c: Bits) -> Bits:
        return fma(a, b, c, self.sums)

    def _product(self, a: Bits, b: Bits) -> Bits:
        return self._multiply_add(a, b, self._bits(-0.0))

    def _bits(self, value: float) -> Bits:
        return np.array(value, VALUES[self.sums.name]).view(dtype_of(self.sums))

    def _is_one(self, number: Bits) -> bool:
        return bool(number == self._bits(1.0))

    def __str__(self) -> str:
        """The rule, for a message; empty where nothing follows."""
        values = VALUES[self.sums.name]
        alpha, beta = (f"{number.view(values)[()]:g}" for number in (self.alpha, self.beta))
        steps = []
        if self.scales is not None:
            steps.append("scale_a (scale_b sum)" if self.by_row else "(scale_a scale_b) sum")
        if alpha != "1":
            steps.append(f"alpha {alpha}")
        if self.addend is not None and self.row:
            steps.append("bias added before rounding" if beta == "1" else f"bias times {beta} added")
        elif self.addend is not None:
            twice = beta == "1" and self.a_type in _HALVES and self.d_type in _HALVES
            steps.append(
                f"rounded to {self.d_type}, C added, rounded again" if twice else f"beta {beta}, C added"
            )
        return ", ".join((*steps, *(["relu"] if self.relu else [])))


@dataclass(frozen=True, kw_only=True, eq=False)
class EpilogueArguments:
    """As callers of `openwmma.matmul` give them."""

    bias: ArrayLike | None = None
    c: ArrayLike | None = None
    alpha: float = 1
    beta: float = 1
    activation: str | None = None
    scale_a: ArrayLike | None = None
    scale_b: ArrayLike | None = None

    def checked(self, types: tuple[str, str, str], shape: tuple[int, ...], *, raw: bool) -> Epilogue:
        """The epilogue of a product of these types of A, B and D, and of this shape.

        With `raw`, the operands are bit patterns, and an addend may be. InvalidArgument for values
        and shapes that do not fit, and forms whose rule is not known.
        """
        a_type, _, d_type = types
        plain = Epilogue(
            a_type=a_type,
            d_type=d_type,
            alpha=scalar_bits("alpha", self.alpha, d_type),
            beta=scalar_bits("beta", self.beta, d_type),
            relu=self.activation is not None,
            **self._scales(a_type, d_type, shape),
        )
        self._refuse_unknown_forms(a_type)
        name, given = ("bias", self.bias) if self.bias is not None else ("c", self.c)
        if given is None:
            return plain
        addend, type_ = _addend(name, given, (a_type, d_type), raw=raw)
        row = name == "bias" or addend.ndim == 1
        wanted = shape[-1:] if name == "bias" else shape
        if not _fits(addend.shape, wanted):
            raise InvalidArgument(name, f"shape {addend.shape}", f"{wanted}, or what broadcasts to it")
        if float(self.beta) == 1:
            if a_type == "f64" and row and float(self.alpha) != 1:
                raise InvalidArgument(
                    "alpha", shortened(self.alpha), "1 with a bias of f64: its rule is not known"
                )
            if a_type in _HALVES and self.activation and not row:
                allowed = "a beta other than 1: relu(addmm()) rounds twice, _addmm_activation() once"
                raise InvalidArgument("activation", "'relu' with a matrix c and beta 1", allowed)
        if float(self.beta) == 0:
            return plain
        return replace(plain, addend=np.broadcast_to(plain.widened(addend, type_), shape), row=row)

    def _refuse_unknown_forms(self, a_type: str) -> None:
        if self.activation is not None and checked_text("activation", self.activation) != "relu":
            allowed = "None or 'relu', the only one whose rule is known"
            raise InvalidArgument("activation", quoted(self.activation), allowed)
        scaled = float(self.alpha) != 1 or float(self.beta) != 1
        if self.bias is not None and self.c is not None:
            raise InvalidArgument("c", "C beside bias", "one of the two")
        if a_type == "s8" and (scaled or not self.bias is self.c is self.activation is None):
            raise InvalidArgument("a", "s8 with an epilogue", "none of bias, c, alpha, beta and activation")
        if a_type in _FP8 and (scaled or self.c is not None):
            raise InvalidArgument("a", f"{a_type} with c, alpha or beta", "scale_a, scale_b and bias")
        if self.bias is self.c is None and float(self.beta) != 1:
            raise InvalidArgument("beta", shortened(self.beta), "1 without c or bias")

    def _scales(self, a_type: str, d_type: str, shape: tuple[int, ...]) -> dict[str, Any]:
        """The fields of an epilogue that say how the sums are scaled."""
        given = {"scale_a": self.scale_a, "scale_b": self.scale_b}
        named = [name for name, scale in given.items() if scale is not None]
        if not named:
            return {}
        if a_type not in _FP8:
            raise InvalidArgument(named[0], f"a scale of {a_type}", "a scale of e4m3 or e5m2")
        *leading, m, n = shape
        scales = [_scale(name, scale, of_rows=name == "scale_a") for name, scale in given.items()]
        by_row = any(scale.size != 1 for scale in scales)
        extents = ((m, 1), (1, n)) if by_row else ((1, 1), (1, 1))
        for name, scale, extent in zip(given, scales, extents, strict=True):
            whole = name in named and scale.shape[-2:] == extent
            if not _fits(scale.shape, (*leading, *extent)) or (by_row and name in named and not whole):
                allowed = f"shape {extent}, or one scale for all of A and one for all of B"
                raise InvalidArgument(name, f"a scale of shape {scale.shape}", allowed)
        if by_row and d_type == "e4m3":
            raise InvalidArgument("d_type", "'e4m3' with scales of rows", "bf16, f16, f32")
        wide = (
            np.broadcast_to(scale.view(np.uint32), (*leading, *extent))
            for scale, extent in zip(scales, extents, strict=True)
        )
        return {"scales": tuple(wide), "by_row": by_row}


def _fits(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether an array of a shape broadcasts to another one."""
    try:
        return np.broadcast_shapes(shape, wanted) == wanted
    except ValueError:
        return False


def scalar_bits(name: str, given: Any, d_type: str) -> Bits:
    """The bit pattern of a number in the format of the sums."""
    dtype = np.dtype("float64" if d_type == "f64" else "float32")
    array = native_array(name, given)
    if array.ndim or array.dtype.kind not in "iuf":
        raise InvalidArgument(name, quoted(given), "a number")
    value = float(array)
    if np.isfinite(value) and abs(value) > float(np.finfo(dtype).max):
        raise InvalidArgument(name, shortened(given), f"a number within the range of {dtype}")
    return np.array(value, dtype).view(f"u{dtype.itemsize}")


def _scale(name: str, given: ArrayLike | None, *, of_rows: bool) -> NDArray[np.float32]:
    """A scale of at least two axes; one where none is given."""
    array = native_array(name, 1 if given is None else given)
    if not array.ndim:
        return scalar_bits(name, array, "f32").view(np.float32).reshape(1, 1)
    if array.dtype != np.float32:
        allowed = "a number, float32, or block scales of float8_e8m0fnu or float8_e4m3fn"
        raise InvalidArgument(name, f"dtype {array.dtype}", allowed)
    if array.ndim == 1:
        return array[:, None] if of_rows else array[None]
    return array


def _addend(name: str, given: ArrayLike, types: tuple[str, str], *, raw: bool) -> tuple[Bits, str]:
    """The bit patterns of C or of a bias, and their type: D's, or a narrower one for f32 and fp8."""
    a_type, d_type = types
    array = native_array(name, given)
    allowed = {VALUES[d_type]: d_type} if d_type not in _FP8 else {}
    if a_type in _FP8 and d_type in ("e4m3", "f32"):
        allowed |= {"float16": "f16", "bfloat16": "bf16"}
    elif a_type in _HALVES:
        allowed |= {VALUES[a_type]: a_type} if d_type == "f32" else {}
    type_ = allowed.get(array.dtype.name)
    if type_ is None and raw and d_type not in _FP8 and array.dtype == dtype_of(FORMATS[d_type]):
        type_ = d_type
    if type_ is None:
        raise InvalidArgument(
            name, f"dtype {array.dtype}", f"{' or '.join(allowed)} for a result of {d_type}"
        )
    return array.view(dtype_of(FORMATS[type_])), type_
