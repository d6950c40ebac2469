"""Instructions, number formats and fragments, from `golden.tables`."""

from collections.abc import Iterator
from itertools import product

from docs.tables.markdown import code, table
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import (
    CORE_FAMILIES,
    FAMILIES,
    LAYOUTS,
    QUAD_PAIRS,
    SPACES,
    SPARSE_WGMMA_FAMILIES,
    USES,
    WGMMA_FAMILIES,
    Family,
    Layout,
    Shape,
    Use,
)
from golden.tables.layouts import fragment

_OPERANDS: dict[Use, str] = {"a": "A", "b": "B", "c": "C, D"}

_HEADS = ("A and B", "C and D", "shapes", "layouts", "qualifiers", "executed by")


def multiply_table() -> str:
    """A table of the multiplies of `wmma`, and one for `mma`."""
    sections = []
    for mnemonic, opcode in (("wmma", "wmma.mma"), ("mma", "mma.sync")):
        rows = [_row(family) for family in (*FAMILIES, QUAD_PAIRS) if family.mnemonic == mnemonic]
        sections.append(f"### `{opcode}`\n\n{table(_HEADS, rows)}")
    return "\n".join(sections)


def wgmma_table() -> str:
    """The families of `wgmma.mma_async`, and the shapes of `wgmma.mma_async.sp`."""
    sparse = {family.multiplicands: f"m64nNk{family.shapes[0].k}" for family in SPARSE_WGMMA_FAMILIES}
    rows = [
        (
            _types(family),
            _accumulators(family),
            f"m64nNk{family.shapes[0].k}",
            sparse.get(family.multiplicands, ""),
            "8, 24 or a multiple of 16" if family.accumulators == ("s32",) else "a multiple of 8",
        )
        for family in WGMMA_FAMILIES
    ]
    return table(("A and B", "C and D", "shapes", "sparse", "N, up to 256"), rows)


def format_table() -> str:
    """Every element type."""
    rows: list[tuple[object, ...]] = []
    for name, format in FORMATS.items():
        if isinstance(format, FloatFormat):
            fields = f"1, {format.exponent_bits}, {format.fraction_bits}"
            digits = format.bits // 4
            rows.append(
                (f"`{name}`", format.bits, fields, format.bias, f"`0x{format.canonical_nan:0{digits}x}`")
            )
        else:
            rows.append((f"`{name}`", format.bits, f"{format.minimum} to {format.maximum}", "", ""))
    return table(("type", "bits", "sign, exponent, fraction bits; range", "bias", "NaN result"), rows)


def alignment_table() -> str:
    """Bytes that address and stride of loads and stores are multiples of, on a core."""
    found: dict[tuple[object, ...], dict[str, None]] = {}
    for family, use in product((item for item in FAMILIES if item.mnemonic == "wmma"), USES[:3]):
        fixed: dict[Use, tuple[Layout, ...]] = {"a": ("row",), "b": ("col",)} if family.fixed_layout else {}
        for layout, name, shape in product(fixed.get(use, LAYOUTS), family.types(use), family.shapes):
            form = fragment(use, name, shape)
            # In one shape lanes lie along columns.
            only = f"`{shape}`" if form.is_accumulator and not form.x_is_row else "others"
            shapes = only if form.is_accumulator and form.element_bits == 32 else "all"
            places = (form.core_alignment(layout, space) for space in SPACES[:2])
            found.setdefault((_OPERANDS[use], layout, shapes, *places), {})[name] = None
    rows = [(operand, code(names), *rest) for (operand, *rest), names in found.items()]
    return table(("operand", "types", "layout", "shapes", "global, generic", "shared"), rows)


def fragment_registers() -> str:
    """32-bit registers for each lane, of each fragment of each shape."""
    return table(("shape", "A", "B", "C, D"), list(_register_rows()))


def _register_rows() -> Iterator[tuple[str, ...]]:
    seen: dict[Shape, list[Family]] = {}
    for family in (*FAMILIES, QUAD_PAIRS):
        for shape in family.shapes:
            seen.setdefault(shape, []).append(family)
    for shape, families in seen.items():
        cells = [_registers(shape, families, use) for use in USES[:3]]
        yield (f"`{shape}`", *cells)


def _registers(shape: Shape, families: list[Family], use: Use) -> str:
    """``f16 8, bf16 4`` and so on; types in the order of the tables."""
    types = dict.fromkeys(name for f in families for name in f.types(use))
    counts: dict[int, list[str]] = {}
    for name in types:
        counts.setdefault(fragment(use, name, shape).registers, []).append(name)
    return "; ".join(f"{' '.join(names)}: {count}" for count, names in counts.items())


def _types(family: Family) -> str:
    both = " (A and B may differ)" if family.mixed else ""
    return code(family.multiplicands) + both


def _accumulators(family: Family) -> str:
    if family.tiles > 1:
        return f"{code(family.accumulators)} (D `f32` if C is)"
    same = " (C and D alike)" if family.same_accumulators and len(family.accumulators) > 1 else ""
    return code(family.accumulators) + same


def _row(family: Family) -> tuple[str, ...]:
    qualifiers = []
    if family.saturate == "integer":
        qualifiers.append("`.satfinite`")
    elif family.saturate == "float":
        qualifiers.append("satf of the WMMA API")
    if family.roundings:
        qualifiers.append(code(f".{name}" for name in family.roundings))
    if family.operations:
        qualifiers.append(code(f".{name}.popc" for name in family.operations))
    return (
        _types(family),
        _accumulators(family),
        code(family.shapes),
        "A `row`, B `col`" if family.fixed_layout else "any",
        "; ".join(qualifiers),
        "golden and core" if family in CORE_FAMILIES else "golden",
    )
