"""Coverpoints of sparse multiplies, of elements of 8, 6 and 4 bits, and of block scales."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.block_scales import unpack_scales, uses_of_scales
from golden.fragments import distribute
from golden.sparsity import stored_places
from golden.tables.commands import Mma
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import SCALES, Use
from golden.tables.matrix_instructions import MmaInstruction
from golden.tables.scales import BYTE_IDS, THREAD_IDS
from golden.tables.sparsity import Sparsity
from hdl.config import CoreConfig
from regression.functional import narrow_sums
from regression.functional.hazards import ROLES, sizes
from regression.functional.model import Coverpoint, Seen, bin_name, count_codes, coverpoint
from regression.functional.narrow_sums import OUTCOMES, SCALE_PARTS, has_groups, outcomes
from regression.functional.sums import is_fused, kinds_of, sum_of
from regression.functional.values import CLASSES, value_codes
from regression.random_programs.choices import UNITS, multiplies_of
from regression.random_programs.illegal_options import scale_ways

_NIBBLES: Final = tuple(f"{nibble:04b}" for nibble in range(16))
_GROUPS: Final = tuple(f"group {group}" for group in range(16))
_SELECTORS: Final = tuple("0123")
_BYTES: Final = tuple(f"{byte:#04x}" for byte in range(256))
_NAN_PLACES: Final = ("A", "B", "both")
_CONTAINERS: Final = ("all zero", "bit 0", "bit 1", "bit 6", "bit 7")
"""Bits that no element uses: of e2m1 all of these, of 6 bits the last two."""

_FACTORS: Final[tuple[Use, ...]] = ("a", "b")
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
        yield from _scale_points(config, scaled)


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
        {"sum": tuple(names), "outcome": OUTCOMES},
    )
    yield coverpoint(
        "metadata hazard",
        "The register of metadata written right before it is read, and after, by each unit.",
        {"kind": tuple(ROLES)[:2], "unit": UNITS},
        lambda kind, unit: None if sizes(config, unit, "writes") else "it writes no register",
    )


def _scale_points(config: CoreConfig, forms: Sequence[MmaInstruction]) -> Iterator[Coverpoint]:
    vecs = tuple(dict.fromkeys(item.scale_vec for item in forms))
    types = tuple(dict.fromkeys(map(_scales_name, forms)))
    yield coverpoint(
        "scale byte",
        "Every byte as a block scale of either operand, of fused sums and of groups.",
        {"operand": ("a", "b"), "scales": types, "byte": _BYTES},
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
        {"scales": types, "where": _NAN_PLACES},
    )
    yield coverpoint(
        "scale hazard",
        "The register of scales of A or B written right before it is read, and after, by each unit.",
        {"register": SCALES, "kind": tuple(ROLES)[:2], "unit": UNITS},
        lambda name, kind, unit: None if sizes(config, unit, "writes") else "it writes no register",
    )
    yield coverpoint(
        "scale fault",
        "Every way to a fault by scales, with one command at work and with several.",
        {
            "way": [bin_name(cause.name.lower(), *way) for cause, *way in scale_ways(config)],
            "mode": ("serial", "overlapped"),
        },
    )


def _scales_name(instruction: MmaInstruction) -> str:
    return f"{instruction.scale_type} of {'groups' if has_groups(instruction) else 'fused sums'}"


def _has_sparse_sum(instruction: MmaInstruction) -> bool:
    return is_fused(instruction) and not _is_small(instruction.a_type)


def _no_nibble(sparsity: Sparsity, group: int, nibble: int) -> str | None:
    if group >= sparsity.groups:
        return "a row has fewer groups"
    return None if nibble in sparsity.nibbles else "it is a fault"


def _small_points(config: CoreConfig) -> Iterator[Coverpoint]:
    forms = [item for item in multiplies_of(config) if is_small(item, config)]
    yield from narrow_sums.points_of(forms)
    shorter = [(item, use) for item in forms for use in _FACTORS if FORMATS[item.types[use]].bits < 8]
    types = dict.fromkeys(_elements_name(*each) for each in shorter)
    yield coverpoint(
        "small operand value",
        "Every class of value of types without infinities and NaN.",
        {"operand": _FACTORS, "type": tuple(types), "class": _NUMBERS},
    )
    held = dict.fromkeys(_container_name(*each) for each in shorter if not has_groups(each[0]))
    yield coverpoint(
        "container",
        "Bits of containers that no element uses, set in an operand, or all zero.",
        {"operand": _FACTORS, "elements": tuple(held), "set": _CONTAINERS},
        lambda use, name, bits: (
            None if "e2m1" in name or bits in ("all zero", *_CONTAINERS[3:]) else "an element uses it"
        ),
    )


def _elements_name(instruction: MmaInstruction, use: Use) -> str:
    return f"{instruction.types[use]}{' of groups' if has_groups(instruction) else ''}"


def _container_name(instruction: MmaInstruction, use: Use) -> str:
    sparse = "sparse" if instruction.is_sparse else "dense"
    return f"{sparse} {instruction.kind} {instruction.types[use]}"


def _is_small(type: str) -> bool:
    return type in ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")


def is_small(instruction: MmaInstruction, config: CoreConfig) -> bool:
    """Whether a multiply has the sums of 8, 6 and 4 bits of a profile that has such."""
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
        item = sum_of(kind, a, matrices["b"][found], c)
        some = (item.products != 0).any(axis=1)
        codes = outcomes(item.products, item.addend.float64(), some, item.unit)
        count_codes(seen, "sparse sum", codes, kind.name, OUTCOMES)


def sample_small(
    seen: Seen,
    instruction: MmaInstruction,
    matrices: Mapping[Use, NDArray[Any]],
    words: Mapping[Use, NDArray[np.uint32]],
) -> None:
    """Note the elements of a multiply for which `is_small`; `words` are the registers of the operands."""
    for use in _FACTORS:
        type, held = instruction.types[use], matrices[use]
        if FORMATS[type].bits == 8:
            continue
        name = _elements_name(instruction, use)
        count_codes(seen, "small operand value", value_codes(held, type), use, name, _NUMBERS)
        if has_groups(instruction):
            continue
        whole = distribute(held, use, type, instruction.shape, sparse=instruction.is_sparse)
        spare = np.bitwise_or.reduce((words[use][: len(whole)] ^ whole).view(np.uint8), axis=None)
        found = [name for name in _CONTAINERS[1:] if spare >> int(name[-1]) & 1] or _CONTAINERS[:1]
        for bits in found:
            seen["container", bin_name(use, _container_name(instruction, use), bits)] += 1


def sample_scales(seen: Seen, command: Mma, registers: NDArray[np.uint32]) -> dict[Use, NDArray[np.uint8]]:
    """Note the scales of a multiply, from all registers of its warp before it, and return them."""
    instruction = command.instruction
    name, parts = _scales_name(instruction), SCALE_PARTS[instruction.scale_type]
    found: dict[Use, NDArray[np.uint8]] = {}
    for use in uses_of_scales(instruction):
        byte, thread = getattr(command, f"byte_{use}"), getattr(command, f"thread_{use}")
        scales = unpack_scales(instruction, use, registers[getattr(command, f"scale_{use}")], byte, thread)
        count_codes(seen, "scale byte", scales, use, name, _BYTES)
        seen["scale selector", bin_name(use, instruction.scale_vec, str(byte), str(thread))] += 1
        found[use] = scales
    are_nan = [bool(parts[scales, 2].any()) for scales in found.values()]
    if any(are_nan):
        seen["NaN scale", bin_name(name, _NAN_PLACES[are_nan[0] + 2 * are_nan[1] - 1])] += 1
    return found
