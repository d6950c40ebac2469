"""Coverpoints of sparse multiplies, and of elements of 8, 6 and 4 bits; of cores that have them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.block_scales import unpack_scales
from golden.fragments import distribute
from golden.sparsity import stored_places
from golden.tables.commands import Mma
from golden.tables.formats import FORMATS, SCALE_FORMATS
from golden.tables.instruction_set import Use
from golden.tables.matrix_instructions import MmaInstruction
from golden.tables.scales import BYTE_IDS, THREAD_IDS
from golden.tables.sparsity import Sparsity
from hdl.config import CoreConfig
from regression.functional.hazards import ROLES, sizes
from regression.functional.model import Coverpoint, Seen, bin_name, count_codes, coverpoint
from regression.functional.sums import Sum, is_fused, kinds_of, sum_of, sums_of
from regression.functional.values import CLASSES, value_codes
from regression.random_programs.choices import UNITS, multiplies_of

_NIBBLES: Final = tuple(f"{nibble:04b}" for nibble in range(16))
_GROUPS: Final = tuple(f"group {group}" for group in range(16))
_SELECTORS: Final = tuple("0123")
_OUTCOMES: Final = ("exact", "cut", "cancelled", "special")
"""Of a sum: all bits count; some do not; none is left, of products that are not zero; no number comes out."""

_BYTES: Final = tuple(f"{byte:#04x}" for byte in range(256))
_NAN_PLACES: Final = ("A", "B", "both")
_CONTAINERS: Final = ("spare bits zero", "spare bits set")
_NUMBERS: Final = CLASSES[:10]
"""Classes of types without infinities and NaN."""


def _form(instruction: MmaInstruction) -> str:
    return f"{instruction.shape} {instruction.a_type}"


def points_of(config: CoreConfig) -> Iterator[Coverpoint]:
    """The coverpoints of what a core has beside the families of every preset."""
    forms = [item for item in multiplies_of(config) if item.is_sparse or item.kind]
    if not forms:
        return
    yield coverpoint(
        "option multiply",
        "Every sparse multiply, and every multiply of smaller elements.",
        {"instruction": [str(item) for item in forms]},
    )
    if config.sparse:
        yield from _sparse_points(config)
    if any(is_small(item, config) for item in forms):
        yield from _small_points(config)
    scaled = [item for item in forms if item.scales]
    if scaled:
        yield from _scale_points(scaled)


def _sparse_points(config: CoreConfig) -> Iterator[Coverpoint]:
    instructions = [item for item in multiplies_of(config) if item.is_sparse]
    forms: dict[str, Sparsity] = {_form(item): item.sparsity for item in instructions}
    yield coverpoint(
        "selector",
        "Every selector of every shape and type of A.",
        {"form": tuple(forms), "selector": _SELECTORS},
        lambda form, selector: None if int(selector) in forms[form].selectors else "it is a fault",
    )
    yield coverpoint(
        "metadata nibble",
        "Every nibble in every group of a row.",
        {"form": tuple(forms), "group": _GROUPS, "nibble": _NIBBLES},
        lambda form, group, nibble: _no_nibble(forms[form], _GROUPS.index(group), int(nibble, 2)),
    )
    names = dict.fromkeys(kinds_of(item)[0].name for item in instructions if _has_sparse_sum(item))
    yield coverpoint(
        "sparse sum",
        "What becomes of the products of the stored elements and C.",
        {"sum": tuple(names), "outcome": _OUTCOMES},
    )
    yield coverpoint(
        "metadata hazard",
        "The register of metadata written right before it is read, and after, by each unit.",
        {"kind": tuple(ROLES)[:2], "unit": UNITS},
        lambda kind, unit: None if sizes(config, unit, "writes") else "it writes no register",
    )


def _scale_points(forms: Sequence[MmaInstruction]) -> Iterator[Coverpoint]:
    types = tuple(dict.fromkeys(item.scale_type for item in forms))
    vecs = tuple(dict.fromkeys(item.scale_vec for item in forms))
    yield coverpoint(
        "scale byte",
        "Every byte as a block scale of either operand.",
        {"operand": ("a", "b"), "type": types, "byte": _BYTES},
    )
    yield coverpoint(
        "scale selector",
        "Every byte and lane from which scales may be taken.",
        {"operand": ("a", "b"), "vec": vecs, "byte": _SELECTORS, "thread": _SELECTORS},
        lambda use, vec, byte, thread: (
            None if int(byte) in BYTE_IDS[vec] and int(thread) in THREAD_IDS[use] else "it is a fault"
        ),
    )
    yield coverpoint(
        "NaN scale",
        "A NaN among the scales of A, of B, and of both.",
        {"types": types, "where": _NAN_PLACES},
    )


def _has_sparse_sum(instruction: MmaInstruction) -> bool:
    return is_fused(instruction) and not _is_small(instruction.a_type)


def _no_nibble(sparsity: Sparsity, group: int, nibble: int) -> str | None:
    if group >= sparsity.groups:
        return "a row has fewer groups"
    return None if nibble in sparsity.nibbles else "it is a fault"


def _small_points(config: CoreConfig) -> Iterator[Coverpoint]:
    small = tuple(type for type, element in FORMATS.items() if _is_small(type) and element.bits < 8)
    forms = [item for item in multiplies_of(config) if is_small(item, config)]
    names = dict.fromkeys(kind.name for item in forms for kind in kinds_of(item, config.dot_product.profile))
    yield coverpoint(
        "small sum",
        "What becomes of the products of each pair of types of 8, 6 and 4 bits, and C.",
        {"sum": tuple(names), "outcome": _OUTCOMES},
    )
    held = {type for item in forms for type in (item.a_type, item.b_type)}
    types = tuple(type for type in small if type in held)
    yield coverpoint(
        "small operand value",
        "Every class of value of types without infinities and NaN.",
        {"operand": ("a", "b"), "type": types, "class": _NUMBERS},
    )
    yield coverpoint(
        "container",
        "Whether the bits of containers that no element uses are set in an operand.",
        {"operand": ("a", "b"), "type": types, "bits": _CONTAINERS},
    )


def _is_small(type: str) -> bool:
    return type in ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")


def is_small(instruction: MmaInstruction, config: CoreConfig) -> bool:
    """Whether a dense multiply has the sums of 8, 6 and 4 bits of a profile that has such, without scales."""
    if instruction.is_sparse or instruction.scales:
        return False
    return _is_small(instruction.a_type) and config.dot_product.profile.narrow_block is not None


def sample_sparse(
    seen: Seen,
    instruction: MmaInstruction,
    matrices: Mapping[Use, NDArray[Any]],
    metadata: NDArray[np.uint8],
    selector: int,
) -> None:
    """Note a sparse multiply that was executed."""
    form = _form(instruction)
    seen["selector", bin_name(form, str(selector))] += 1
    codes = 16 * np.arange(metadata.shape[1]) + metadata
    count_codes(seen, "metadata nibble", codes, form, _GROUPS, _NIBBLES)
    if not _has_sparse_sum(instruction):
        return
    (kind,) = kinds_of(instruction)
    places = stored_places(instruction.sparsity, metadata)
    for row, found in enumerate(places):
        a, c = (matrices[use][row : row + 1] for use in ("a", "c"))
        _sample_sum(seen, "sparse sum", sum_of(kind, a, matrices["b"][found], c))


def sample_small(
    seen: Seen,
    instruction: MmaInstruction,
    matrices: Mapping[Use, NDArray[Any]],
    words: Mapping[Use, NDArray[np.uint32]],
    config: CoreConfig,
) -> None:
    """Note a multiply for which `is_small`; `words` are the registers of the operands."""
    for use in ("a", "b"):
        type = instruction.types[use]
        if FORMATS[type].bits < 8:
            count_codes(seen, "small operand value", value_codes(matrices[use], type), use, type, _NUMBERS)
            whole = distribute(matrices[use], use, type, instruction.shape)
            spare = _CONTAINERS[bool((words[use][: len(whole)] != whole).any())]
            seen["container", bin_name(use, type, spare)] += 1
    for item in sums_of(instruction, matrices, config.dot_product.profile):
        _sample_sum(seen, "small sum", item)


def sample_scales(seen: Seen, command: Mma, registers: NDArray[np.uint32]) -> None:
    """Note the scales of a multiply that was executed, from all registers of its warp before it."""
    instruction = command.instruction
    type = instruction.scale_type
    are_nan = []
    for use in ("a", "b"):
        byte, thread = getattr(command, f"byte_{use}"), getattr(command, f"thread_{use}")
        scales = unpack_scales(instruction, use, registers[getattr(command, f"scale_{use}")], byte, thread)
        count_codes(seen, "scale byte", scales, use, type, _BYTES)
        seen["scale selector", bin_name(use, instruction.scale_vec, str(byte), str(thread))] += 1
        are_nan.append(bool((scales == SCALE_FORMATS[type].canonical_nan).any()))
    if any(are_nan):
        seen["NaN scale", bin_name(type, _NAN_PLACES[are_nan[0] + 2 * are_nan[1] - 1])] += 1


def _sample_sum(seen: Seen, point: str, item: Sum) -> None:
    """Note the outcome of every element of a sum."""
    count_codes(seen, point, _outcomes(item), item.kind.name, _OUTCOMES)


def _outcomes(item: Sum) -> NDArray[Any]:
    """The places in `_OUTCOMES`."""
    with np.errstate(invalid="ignore"):
        products = np.ldexp(item.products, -item.unit[:, None, :])
        addend = np.ldexp(item.addend.float64(), -item.unit)
        is_cut = (products != np.trunc(products)).any(axis=1) | (addend != np.trunc(addend))
    is_cancelled = (item.total == 0) & (item.products != 0).any(axis=1)
    return np.select([~np.isfinite(item.total), is_cut, is_cancelled], [3, 1, 2], 0)
