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
    qualifiers.accept({"aligned": "aligned"}, _SHAPE)
    qualifiers.take(_SHAPE)
    if mnemonic == "movmatrix":
        qualifiers.take(_TRANSPOSED)
        qualifiers.take(_TYPE)
        qualifiers.end()
        return MoveInstruction(mnemonic=mnemonic, transposed=True)
    count = qualifiers.take(_COUNT)
    transposed = qualifiers.accept(_TRANSPOSED, {**_SPACE, **_TYPE}) is not None
    space = qualifiers.accept(_SPACE, _TYPE) or "generic"
    qualifiers.take(_TYPE)
    qualifiers.end()
    return MoveInstruction(mnemonic=mnemonic, count=count, transposed=transposed, space=space)
