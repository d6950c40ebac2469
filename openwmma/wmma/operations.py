"""The functions of the API: load, store, fill and multiply."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from numpy.typing import NDArray

from golden.integers import quoted
from golden.lines import gather_lines
from golden.tables.commands import Fill, Load, Mma, Store
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import Family
from golden.tables.instruction_set import Layout as TableLayout
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from openwmma.wmma.element_types import (
    ELEMENT_TYPES,
    BitAccumulateOperation,
    BitOperation,
    FragmentUse,
    MemoryLayout,
    Misuse,
    pattern_of,
)
from openwmma.wmma.fragments import WMMA_FAMILIES, fragment
from openwmma.wmma.pointer import point_to
from openwmma.wmma.warps import current_warp

_LAYOUT_RULE: Final = "layout is mem_row_major or mem_col_major"

_PARTS: Final[Mapping[str, FragmentUse]] = MappingProxyType(
    {
        "d": FragmentUse.ACCUMULATOR,
        "a": FragmentUse.MATRIX_A,
        "b": FragmentUse.MATRIX_B,
        "c": FragmentUse.ACCUMULATOR,
    }
)


def load_matrix_sync(
    a: fragment, mptr: NDArray[Any], ldm: int | MemoryLayout | None = None, layout: MemoryLayout | None = None
) -> None:
    """Load a fragment from memory.

    Parameters
    ----------
    a : fragment
    mptr : ndarray
        A view that begins with the tile's first element; see `openwmma.wmma.pointer.point_to`.
    ldm : int or None
        Elements from one row (column, where the layout is by columns) to the next; None for the view's.
    layout : mem_row_major, mem_col_major or None
        Must be given for accumulators, and for these alone.

    Raises
    ------
    Misuse
    """
    name = "load_matrix_sync"
    stride, layout = _sorted(ldm, layout)
    _require_fragment(name, "a", a)
    warp = current_warp(name)
    order: TableLayout
    if a.use is FragmentUse.ACCUMULATOR:
        if not isinstance(layout, MemoryLayout):
            raise Misuse(
                f"{name}: layout is {quoted(layout)} for {a!r}", f"for an accumulator {_LAYOUT_RULE}"
            )
        order = layout.table
    else:
        if layout is not None:
            raise Misuse(
                f"{name}: layout is {quoted(layout)} for {a!r}", "a multiplicand has the layout of its type"
            )
        assert a.layout is not None, "a multiplicand has a layout"
        order = a.layout.table
    instruction = LoadInstruction(
        use=a.use.table, layout=order, shape=a.shape, type=a.T.table, space="global"
    )
    pointer = point_to(name, mptr, stride, instruction, a.T, strict=warp.strict)
    warp.flush()
    array = warp.memory.place(pointer)
    address = array.address + pointer.offset
    as_program = warp.memory.update(array, gather_lines(instruction, address, pointer.ldm))
    warp.registers.place((), (a.contents,))
    warp.machine.execute(Load(instruction, a.contents.first, address, pointer.ldm))
    a.set_dtype(pointer.dtype)
    a.written()
    if as_program:
        warp.program.access(instruction, a.number, array.name, pointer.offset, pointer.ldm)
    else:
        warp.program.set_matrix(a.number, a.raw_matrix(), order)


def store_matrix_sync(
    mptr: NDArray[Any],
    a: fragment,
    ldm: int | MemoryLayout | None = None,
    layout: MemoryLayout | None = None,
) -> None:
    """Store an accumulator to memory.

    Parameters
    ----------
    mptr : ndarray
        A writable view; its array has changed when the call returns.
    a : fragment
    ldm : int or None
        As for `load_matrix_sync`. It may be left out: ``store_matrix_sync(D, acc, mem_row_major)``.
    layout : mem_row_major or mem_col_major

    Raises
    ------
    Misuse
    """
    name = "store_matrix_sync"
    stride, layout = _sorted(ldm, layout)
    _require_fragment(name, "a", a)
    warp = current_warp(name)
    if a.use is not FragmentUse.ACCUMULATOR:
        raise Misuse(f"{name}: got {a!r}", "only an accumulator can be stored")
    if not isinstance(layout, MemoryLayout):
        raise Misuse(f"{name}: layout is {quoted(layout)}", _LAYOUT_RULE)
    a.require_set(name)
    instruction = StoreInstruction(layout=layout.table, shape=a.shape, type=a.T.table, space="global")
    pointer = point_to(name, mptr, stride, instruction, a.T, strict=warp.strict)
    warp.flush()
    array = warp.memory.place(pointer)
    address = array.address + pointer.offset
    warp.registers.place((a.contents,), ())
    warp.machine.execute(Store(instruction, a.contents.first, address, pointer.ldm))
    warp.memory.take_back(array, gather_lines(instruction, address, pointer.ldm))
    warp.program.access(instruction, a.number, array.name, pointer.offset, pointer.ldm)


def fill_fragment(a: fragment, v: float) -> None:
    """Set every element of a fragment to one value.

    Parameters
    ----------
    a : fragment
    v : number
        Rounded to nearest, ties to even; integer types take integers in their range.

    Raises
    ------
    Misuse
    """
    name = "fill_fragment"
    _require_fragment(name, "a", a)
    warp = current_warp(name)
    bits = FORMATS[a.T.table].bits
    pattern = pattern_of(name, v, a.T)
    word = pattern if bits >= 32 else sum(pattern << place for place in range(0, 32, bits))
    warp.flush()
    warp.registers.place((), (a.contents,))
    first, count = a.contents.first, a.contents.count
    if bits == 64:
        for register in range(count):
            half = word >> 32 if register % 2 else word & 0xFFFFFFFF
            warp.machine.execute(Fill(first + register, 1, half))
    else:
        warp.machine.execute(Fill(first, count, word))
    a.written()
    warp.program.fill(a.number, word)


def mma_sync(d: fragment, a: fragment, b: fragment, c: fragment, satf: bool = False) -> None:
    """Multiply and accumulate, D = A B + C; d may be c.

    Parameters
    ----------
    d, a, b, c : fragment
    satf : bool
        Whether results are clamped. Floating point: infinities become the largest finite numbers, NaN becomes
        +0. Integers: to the range of int. There is none for double.

    Raises
    ------
    Misuse
    """
    name = "mma_sync"
    family = _checked_family(name, d, a, b, c)
    if not isinstance(satf, bool):
        raise Misuse(f"{name}: satf is {quoted(satf)}", "satf is True or False")
    if family.operations:
        raise Misuse(f"{name}: got fragments of {a.T!r}", "single bits are multiplied by bmma_sync")
    if satf and family.saturate == "never":
        raise Misuse(f"{name}: satf with {a.T!r}", f"there is no satf for {a.T!r}")
    _multiply(name, d, a, b, c, saturate=satf)


def bmma_sync(
    d: fragment,
    a: fragment,
    b: fragment,
    c: fragment,
    bit_operation: BitOperation = BitOperation.bmmaBitOpXOR,
    accumulate_operation: BitAccumulateOperation = BitAccumulateOperation.bmmaAccumulateOpPOPC,
) -> None:
    """Combine single bits, count the ones and accumulate: D = popc(A op B) + C; d may be c.

    Parameters
    ----------
    d, a, b, c : fragment
    bit_operation : bmmaBitOpXOR or bmmaBitOpAND
    accumulate_operation : bmmaAccumulateOpPOPC

    Raises
    ------
    Misuse
    """
    name = "bmma_sync"
    family = _checked_family(name, d, a, b, c)
    if not family.operations:
        raise Misuse(f"{name}: got fragments of {a.T!r}", "it multiplies experimental::precision::b1")
    if not isinstance(bit_operation, BitOperation):
        raise Misuse(
            f"{name}: the operation is {quoted(bit_operation)}", "it is bmmaBitOpXOR or bmmaBitOpAND"
        )
    if not isinstance(accumulate_operation, BitAccumulateOperation):
        raise Misuse(
            f"{name}: the accumulate operation is {quoted(accumulate_operation)}",
            "it is bmmaAccumulateOpPOPC",
        )
    operation = "xor" if bit_operation is BitOperation.bmmaBitOpXOR else "and"
    _multiply(name, d, a, b, c, operation=operation)


def _sorted(
    ldm: int | MemoryLayout | None, layout: MemoryLayout | None
) -> tuple[int | None, MemoryLayout | None]:
    """`ldm` and `layout`, where `ldm` may have been left out."""
    if isinstance(ldm, MemoryLayout):
        if layout is not None:
            raise Misuse(f"ldm is {ldm!r}", "ldm is a number of elements")
        return None, ldm
    return ldm, layout


def _require_fragment(name: str, argument: str, given: object) -> None:
    current_warp(name)
    if not isinstance(given, fragment):
        raise Misuse(f"{name}: {argument} is {type(given).__name__}", f"{argument} is a fragment")
    given.require_current(name)


def _checked_family(name: str, d: fragment, a: fragment, b: fragment, c: fragment) -> Family:
    """Check the template parameters of four fragments; the row of the instruction tables."""
    fragments = {"d": d, "a": a, "b": b, "c": c}
    for argument, given in fragments.items():
        _require_fragment(name, argument, given)
        if given.use is not _PARTS[argument]:
            raise Misuse(
                f"{name}: {argument} is {given!r}", f"{argument} is a fragment of {_PARTS[argument]!r}"
            )
    for argument, given in fragments.items():
        if given.shape != a.shape:
            raise Misuse(
                f"{name}: {argument} is {given!r}, a is {a!r}",
                "the template parameters m, n and k must match between fragments A, B, C and D",
            )
    if a.T is not b.T:
        raise Misuse(f"{name}: a is {a!r}, b is {b!r}", "A and B have the same element type")
    family = next(
        item for item in WMMA_FAMILIES if a.T.table in item.multiplicands and a.shape in item.shapes
    )
    accumulators = " or ".join(ELEMENT_TYPES[name].cuda for name in family.accumulators)
    for argument, given in (("c", c), ("d", d)):
        if given.T.table not in family.accumulators:
            raise Misuse(
                f"{name}: {argument} is {given!r} with multiplicands of {a.T!r}",
                f"their accumulators are of {accumulators}",
            )
    for given in (a, b, c):
        given.require_set(name)
    return family


def _multiply(
    name: str,
    d: fragment,
    a: fragment,
    b: fragment,
    c: fragment,
    *,
    saturate: bool = False,
    operation: str | None = None,
) -> None:
    warp = current_warp(name)
    assert a.layout is not None
    assert b.layout is not None
    instruction = MmaInstruction(
        shape=a.shape,
        a_layout=a.layout.table,
        b_layout=b.layout.table,
        a_type=a.T.table,
        b_type=b.T.table,
        c_type=c.T.table,
        d_type=d.T.table,
        saturate=saturate,
        operation=operation,
    )
    warp.flush()
    warp.registers.place((a.contents, b.contents, c.contents), (d.contents,))
    warp.machine.execute(Mma(instruction, *(held.contents.first for held in (d, a, b, c))))
    d.written()
    warp.program.multiply(instruction, (d.number, a.number, b.number, c.number))
