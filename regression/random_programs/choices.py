"""What a random program chooses from: every instruction of the tables that a core has."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Final, Generic, TypeVar

import numpy as np

from golden.tables.commands import Load, Store
from golden.tables.instruction_set import CORE_FAMILIES, LAYOUTS, ROUNDINGS, Family, Space
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from hdl.config import CoreConfig
from hdl.memory.fragment_geometry import legal_fragments

__all__ = [
    "PLACES",
    "Access",
    "Deck",
    "access_command",
    "accesses_of",
    "least_stride",
    "modifiers",
    "multiplies_of",
    "place_in",
    "stride_unit",
]

Access = LoadInstruction | StoreInstruction

PLACES: Final = ("global", "shared", "generic to global", "generic to shared")
"""The state spaces, and which memory a generic address means."""

_Item = TypeVar("_Item")


class Deck(Generic[_Item]):
    """Items dealt in random order, each once before any comes again.

    Parameters
    ----------
    items : sequence
    seed : int
        Of the order; decks of the same seed deal alike.
    start : int
        How many were dealt before, so that programs may go on where others stopped.
    """

    def __init__(self, items: Sequence[_Item], seed: int, start: int = 0) -> None:
        self._items = tuple(items)
        self._seed = seed
        self._next = start
        self._round = -1
        self._order = np.zeros(0, dtype=np.int64)

    def deal(self) -> _Item:
        """The next item."""
        number, place = divmod(self._next, len(self._items))
        if number != self._round:
            self._round = number
            self._order = np.random.default_rng((self._seed, number)).permutation(len(self._items))
        self._next += 1
        return self._items[int(self._order[place])]


def modifiers(family: Family) -> list[dict[str, Any]]:
    """Every choice of the optional qualifiers of a family."""
    if family.roundings:
        return [{"rounding": rounding} for rounding in (None, *ROUNDINGS)]
    if family.operations:
        return [{"operation": operation} for operation in family.operations]
    return [{"saturate": value} for value in ((False,) if family.saturate == "never" else (False, True))]


def _multiplies(family: Family) -> Iterator[MmaInstruction]:
    layouts = [("row", "col")] if family.fixed_layout else list(product(LAYOUTS, repeat=2))
    pairs = [pair for pair in product(family.multiplicands, repeat=2) if family.mixed or pair[0] == pair[1]]
    for shape, (a_layout, b_layout), (a, b), c, d, chosen in product(
        family.shapes, layouts, pairs, family.accumulators, family.accumulators, modifiers(family)
    ):
        if c != d and family.same_accumulators:
            continue
        yield MmaInstruction(
            mnemonic=family.mnemonic,
            shape=shape,
            a_layout=a_layout,
            b_layout=b_layout,
            a_type=a,
            b_type=b,
            c_type=c,
            d_type=d,
            **chosen,
        )


def multiplies_of(config: CoreConfig | None = None) -> tuple[MmaInstruction, ...]:
    """Every legal multiply of a core; None for all of the tables."""
    families = CORE_FAMILIES if config is None else config.families
    return tuple(instruction for family in families for instruction in _multiplies(family))


def accesses_of(config: CoreConfig) -> tuple[Access, ...]:
    """Every legal load and store of a core, each with a generic address."""
    found: list[Access] = []
    for use, name, shape, layout in legal_fragments(config):
        if use == "d":
            found.append(StoreInstruction(layout=layout, shape=shape, type=name))
        else:
            found.append(LoadInstruction(use=use, layout=layout, shape=shape, type=name))
    return tuple(found)


def place_in(instruction: Access, place: str) -> Access:
    """The instruction with the state space of one of `PLACES`."""
    spaces: dict[str, Space] = {"global": "global", "shared": "shared"}
    return replace(instruction, space=spaces.get(place, "generic"))


def access_command(instruction: Access, register: int, address: int, stride: int | None) -> Load | Store:
    """The command of a load or a store."""
    if isinstance(instruction, StoreInstruction):
        return Store(instruction, register, address, stride)
    return Load(instruction, register, address, stride)


def stride_unit(instruction: Access) -> int:
    """Elements in as many bytes as a lane has of the fragment; legal strides are multiples of it."""
    layout = instruction.fragment
    return max(1, layout.size * 8 // layout.element_bits)


def least_stride(instruction: Access) -> int:
    """The smallest legal stride: the default one where that is aligned."""
    default = instruction.shape.default_stride(instruction.use, instruction.layout)
    unit = stride_unit(instruction)
    return -(-default // unit) * unit
