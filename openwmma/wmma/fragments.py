"""Fragments: a section of a matrix, distributed over the threads of a warp."""

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.fragments import collect
from golden.integers import integer_of, quoted, shortened
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import FAMILIES, Shape
from golden.tables.layouts import LANES, FragmentLayout
from golden.tables.layouts import fragment as fragment_layout
from hdl.config import PRESETS, CoreConfig
from openwmma.wmma.element_types import (
    ELEMENT_TYPES,
    ElementType,
    FragmentUse,
    Layout,
    MemoryLayout,
    Misuse,
    checked_element_type,
)
from openwmma.wmma.register_file import Contents
from openwmma.wmma.warps import current_warp

WMMA_FAMILIES: Final = tuple(family for family in FAMILIES if family.mnemonic == "wmma")


class fragment:  # noqa: N801
    """``nvcuda::wmma::fragment<use, m, n, k, T, layout>``; its contents are undefined until it is set.

    Parameters
    ----------
    use : matrix_a, matrix_b or accumulator
    m, n, k : int
        The tile sizes of the multiply: A is m x k, B k x n, an accumulator m x n.
    T : ElementType
        ``half``, ``bfloat16``, ``precision.tf32``, ``double``, ``signed_char``, ``unsigned_char``,
        ``experimental.precision.s4``, ``u4`` or ``b1`` for multiplicands; ``half``, ``float32`` (or Python's
        `float`), ``double`` or ``int32`` (or `int`) for accumulators.
    layout : row_major, col_major or None
        Of multiplicands; sub-byte ones are row-major for A and col-major for B. None for accumulators.

    Attributes
    ----------
    num_elements : int
        Elements that each thread holds.
    num_storage_elements : int
        Elements of `x` that each thread holds: `num_elements`, but for sub-byte types.

    Raises
    ------
    Misuse
        Outside a warp, for a combination that is in no table of CUDA's documentation, and for one that the
        machine lacks.
    """

    def __init__(
        self,
        use: FragmentUse,
        m: int,
        n: int,
        k: int,
        T: ElementType | type,  # noqa: N803
        layout: Layout | None = None,
    ) -> None:
        self._warp = current_warp("fragment")
        element = checked_element_type(T)
        if not isinstance(use, FragmentUse):
            raise Misuse(f"fragment: Use is {quoted(use)}", "Use is matrix_a, matrix_b or accumulator")
        if element is None:
            names = ", ".join(item.cuda for item in ELEMENT_TYPES.values())
            raise Misuse(f"fragment: T is {quoted(T)}", f"the element types are {names}")
        sizes = [size for size in map(integer_of, (m, n, k)) if size is not None]
        if len(sizes) != 3 or max(map(abs, sizes)) >= 1 << 32:
            given = ", ".join(shortened(size) for size in (m, n, k))
            raise Misuse(f"fragment: m, n, k are {given}", "the sizes are integers")
        self.use: Final = use
        self.T: Final = element
        self.shape: Final = Shape(*sizes)
        self.layout: Final = layout
        self._check_combination()
        self._check_machine()
        self._held: Final[FragmentLayout] = fragment_layout(self.use.table, element.table, self.shape)
        self.num_elements: Final = self._held.elements
        self.num_storage_elements: Final = self._held.size // element.storage.itemsize
        self.contents: Final = Contents(self._held.registers)
        self.number: Final = self._warp.program.add_fragment(self._held)
        self.is_set = False
        self.dtype = (
            np.dtype(np.int8 if element.table == "s4" else np.uint8) if self._is_packed else element.storage
        )
        self._x: NDArray[Any] | None = None
        self._before: NDArray[np.uint8] | None = None

    def __repr__(self) -> str:
        layout = f", {self.layout!r}" if self.layout is not None else ""
        return f"fragment<{self.use!r}, {self.shape.m}, {self.shape.n}, {self.shape.k}, {self.T!r}{layout}>"

    @property
    def x(self) -> NDArray[Any]:
        """The elements of all threads, shape (32 lanes, num_storage_elements).

        What is written into it reaches the machine before the next call of the API. Once a call has written
        the fragment, arrays that came from `x` before are read-only: they are not the fragment any more.
        Elements that two threads (or one thread twice) hold must be written alike, as CUDA asks for the same
        operation on all elements. Of sub-byte types an element is 32 bits that hold several, low bits first.
        ``fragment.x = values`` sets all elements, also of a fragment that is not set yet.
        """
        self.require_set("x")
        if self._x is None:
            words = self._warp.registers.fetch(self.contents)
            dtype = self.T.storage if self._is_packed else self.dtype
            self._x = np.ascontiguousarray(words.T).view(dtype)
            self._before = self._x.view(np.uint8).copy()
            if self._warp.is_open:
                self._warp.watch(self)
            else:
                self._x.flags.writeable = False
        return self._x

    @x.setter
    def x(self, values: ArrayLike) -> None:
        self.require_current("fragment.x")
        if values is self._x and values is not None:
            return
        dtype = self.T.storage if self._is_packed else self.dtype
        elements = np.empty((LANES, self.num_storage_elements), dtype)
        try:
            np.copyto(elements, values, casting="same_kind")
        except (TypeError, ValueError, OverflowError, MemoryError) as error:
            raise Misuse(
                f"fragment.x: {error}", f"x has shape {elements.shape} and elements of {dtype}"
            ) from None
        self._replace(elements)
        self.written()

    def matrix(self) -> NDArray[Any]:
        """The tile that the fragment holds, shape (rows, columns).

        Returns
        -------
        ndarray
            float16, float32 (also for tf32), float64, int32, int8 or uint8 (also for single bits). bfloat16
            is of the dtype of the array that it was loaded from, else raw bits in uint16. Where two threads
            hold an element, the first one counts.
        """
        self.require_set("matrix")
        self.flush()
        return self.raw_matrix().view(self.dtype)

    def raw_matrix(self) -> NDArray[Any]:
        """The tile as raw bit patterns of floating point and values of integers."""
        words = self._warp.registers.fetch(self.contents)
        return collect(words, self.use.table, self.T.table, self.shape)

    def require_set(self, what: str) -> None:
        """Misuse for a fragment whose contents are undefined."""
        if not self.is_set:
            raise Misuse(
                f"{what}: the contents of {self!r} are undefined",
                "set it first: load_matrix_sync, fill_fragment, mma_sync or fragment.x = ...",
            )

    def require_current(self, function: str) -> None:
        """Misuse for a fragment of another warp."""
        if current_warp(function) is not self._warp:
            raise Misuse(
                f"{function}: {self!r} is of another warp", "a fragment lies in the registers of one warp"
            )

    def set_dtype(self, dtype: np.dtype[Any]) -> None:
        """Note the dtype of the array that it is loaded from, which bfloat16 elements keep."""
        if self.T.table == "bf16":
            self.dtype = dtype

    def written(self) -> None:
        """Note that it was written, so that arrays from `x` no longer are its elements."""
        self.is_set = True
        self.freeze()
        self._x = self._before = None

    def freeze(self) -> None:
        """Make the array that `x` returned read-only."""
        if self._x is not None:
            self._x.flags.writeable = False

    def flush(self) -> None:
        """Bring to the machine what was written into `x`, if anything was."""
        if self._x is None or self._before is None:
            return
        now = self._x.view(np.uint8)
        if not np.array_equal(now, self._before):
            self._before = now.copy()
            self._replace(self._x)

    @property
    def _is_packed(self) -> bool:
        return FORMATS[self.T.table].bits < 8

    def _replace(self, elements: NDArray[Any]) -> None:
        """Set the registers from elements, shape (32 lanes, num_storage_elements)."""
        words = np.ascontiguousarray(elements.view(np.uint32).reshape(LANES, -1).T)
        self._warp.registers.replace_words(self.contents, words)
        matrix = collect(words, self.use.table, self.T.table, self.shape)
        self._warp.program.set_matrix(
            self.number, matrix, self.layout.table if self.layout is not None else None
        )

    def _check_combination(self) -> None:
        """Refuse what is in no table."""
        multiplicand = self.use is not FragmentUse.ACCUMULATOR
        if isinstance(self.layout, MemoryLayout) or not (
            self.layout is None or isinstance(self.layout, Layout)
        ):
            raise Misuse(f"fragment: Layout is {self.layout!r}", "Layout is row_major or col_major")
        if multiplicand and self.layout is None:
            raise Misuse(
                f"{self!r}: no Layout",
                "Layout must be specified for matrix_a and matrix_b: row_major or col_major",
            )
        if not multiplicand and self.layout is not None:
            raise Misuse(
                f"{self!r}: a Layout",
                "an accumulator has none; it is given to load_matrix_sync and store_matrix_sync",
            )
        holders = [family for family in WMMA_FAMILIES if self.T.table in family.types(self.use.table)]
        if not holders:
            types = dict.fromkeys(name for family in WMMA_FAMILIES for name in family.types(self.use.table))
            raise Misuse(
                f"{self!r}: T is {self.T!r}",
                f"{'multiplicands' if multiplicand else 'accumulators'} are of "
                f"{', '.join(ELEMENT_TYPES[name].cuda for name in types)}",
            )
        fitting = [family for family in holders if self.shape in family.shapes]
        if not fitting:
            shapes = dict.fromkeys(shape for family in holders for shape in family.shapes)
            raise Misuse(
                f"{self!r}: m, n, k are {', '.join(map(str, self.shape))}",
                f"{self.T!r} has {'; '.join(', '.join(map(str, shape)) for shape in shapes)}",
            )
        fixed = Layout.ROW_MAJOR if self.use is FragmentUse.MATRIX_A else Layout.COL_MAJOR
        if multiplicand and all(family.fixed_layout for family in fitting) and self.layout is not fixed:
            raise Misuse(f"{self!r}: {self.layout!r}", f"{self.use!r} of {self.T!r} is always {fixed!r}")

    def _check_machine(self) -> None:
        """Refuse what the core lacks."""

        def has(config: CoreConfig) -> bool:
            return any(
                family.mnemonic == "wmma"
                and self.shape in family.shapes
                and self.T.table in family.types(self.use.table)
                for family in config.families
            )

        if not has(self._warp.config):
            presets = ", ".join(name for name, config in PRESETS.items() if has(config))
            raise Misuse(
                f"{self!r}: the core {self._warp.preset} has no multiply with it",
                f"presets that have: {presets}",
            )
