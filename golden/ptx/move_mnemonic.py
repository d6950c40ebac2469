"""From the mnemonic and qualifiers of a matrix move to its instruction."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from golden.ptx.qualifiers import Qualifiers
from golden.tables.commands import MATRIX_COUNTS
from golden.tables.instruction_set import Space
from golden.tables.matrix_moves import MOVES, MoveInstruction

__all__ = ["parse_move"]

_SHAPE: Final[Mapping[str, str]] = MappingProxyType({"m8n8": "m8n8"})
_COUNT: Final[Mapping[str, int]] = MappingProxyType({f"x{count}": count for count in MATRIX_COUNTS})
_TRANSPOSED: Final[Mapping[str, bool]] = MappingProxyType({"trans": True})
_SPACE: Final[Mapping[str, Space]] = MappingProxyType({"shared": "shared", "shared::cta": "shared"})
_TYPE: Final[Mapping[str, str]] = MappingProxyType({"b16": "b16"})


def parse_move(parts: Sequence[str]) -> MoveInstruction:
    """Parse mnemonic and qualifiers of a matrix move, already split at their dots.

    Parameters
    ----------
    parts : sequence of str
        The first is one of `golden.tables.matrix_moves.MOVES`. ``.aligned`` may be left out.

    Raises
    ------
    golden.ptx.qualifiers.MalformedInstruction
        For a qualifier that is unknown, missing, doubled or out of place, naming what is allowed there.
    """
    qualifiers = Qualifiers(parts)
    mnemonic = qualifiers.take({name: name for name in MOVES})
    qualifiers.take({"sync": "sync"})
    if mnemonic == "movmatrix":
        qualifiers.accept({"aligned": "aligned"}, _SHAPE)
        qualifiers.take(_SHAPE)
        qualifiers.take(_TRANSPOSED)
        qualifiers.take(_TYPE)
        qualifiers.end()
        return MoveInstruction(mnemonic=mnemonic, transposed=True)
    qualifiers.accept({"aligned": "aligned"}, {**_SHAPE, **_COUNT, **_TRANSPOSED})
    count, transposed = _matrices(qualifiers)
    space = qualifiers.accept(_SPACE, _TYPE) or "generic"
    qualifiers.take(_TYPE)
    qualifiers.end()
    return MoveInstruction(mnemonic=mnemonic, count=count, transposed=transposed, space=space)


def _matrices(qualifiers: Qualifiers) -> tuple[int, bool]:
    """Number of matrices and ``.trans``; with the shape, they stand in any order, as assemblers take them."""
    count, transposed = 0, False
    kinds: list[Mapping[str, object]] = [_SHAPE, _COUNT, _TRANSPOSED]
    while _SHAPE in kinds or _COUNT in kinds:
        part = qualifiers.take({name: name for kind in kinds for name in kind})
        kinds = [kind for kind in kinds if part not in kind]
        count = _COUNT.get(part, count)
        transposed |= part in _TRANSPOSED
    if not transposed:
        transposed = qualifiers.accept(_TRANSPOSED, {**_SPACE, **_TYPE}) is not None
    return count, transposed
