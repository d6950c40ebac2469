"""What a random program chooses from: every instruction that a core has, with its operands."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import count, product
from typing import Final, TypeVar

import numpy as np

from golden.tables.commands import (
    MATRIX_COUNTS,
    Command,
    Fill,
    Load,
    LoadMatrix,
    Mma,
    Move,
    MoveMatrix,
    Store,
    StoreMatrix,
    Wgmma,
)
from golden.tables.instruction_set import CORE_FAMILIES, LAYOUTS, Family, Layout, Shape, Space, Use
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from golden.tables.matrix_instructions import multiplies_of as multiplies_of_family
from golden.warpgroup_share import A_REGISTERS, accumulator_registers
from hdl.config import CoreConfig
from hdl.memory.fragment_geometry import legal_fragments
from regression.random_programs.shares import share_forms

Access = LoadInstruction | StoreInstruction

PLACES: Final = ("global", "shared", "generic to global", "generic to shared")
"""The state spaces, and which memory a generic address means."""

ROW_PLACES: Final = ("shared", "generic to shared", "generic to global", "generic to both")
"""State space of rows of matrices, and which memory their generic addresses mean."""

_ROW_MOVES: Final[tuple[type[LoadMatrix | StoreMatrix], ...]] = (LoadMatrix, StoreMatrix)
MOVES: Final = tuple(product(_ROW_MOVES, MATRIX_COUNTS, (False, True), ROW_PLACES))
"""Every form of `ldmatrix` and `stmatrix`: command, matrices, ``.trans``, one of `ROW_PLACES`."""

UNITS: Final = ("load", "store", "tile", "f64", "fill", "move", "ldmatrix", "stmatrix", "movmatrix")
OPTIONS: Final = ("sparse", "wgmma")
"""What does commands that few cores have: sparse multiplies are done by the unit of tiles."""

_Item = TypeVar("_Item")


def deck(items: Sequence[_Item], seed: int, start: int = 0) -> Iterator[_Item]:
    """Items dealt in random order without end, each once before any comes again.

    Decks of the same seed deal alike. `start` items were dealt before, so that programs may go on where
    others stopped.
    """
    for number in count(start // len(items)):
        order = np.random.default_rng((seed, number)).permutation(len(items)).tolist()
        for place in order[max(0, start - number * len(items)) :]:
            yield items[place]


def _multiplies(family: Family) -> Iterator[MmaInstruction]:
    a_layouts: tuple[Layout, ...] = ("row",) if family.fixed_layout else LAYOUTS
    b_layouts: tuple[Layout, ...] = ("col",) if family.fixed_layout else LAYOUTS
    for shape, a_layout, b_layout in product(family.shapes, a_layouts, b_layouts):
        for item in multiplies_of_family(replace(family, shapes=(shape,))):
            # To round to nearest is the default.
            for rounding in (None, "rn") if item.rounding == "rn" else (item.rounding,):
                yield replace(item, a_layout=a_layout, b_layout=b_layout, rounding=rounding)


@cache
def multiplies_of(config: CoreConfig | None = None) -> tuple[MmaInstruction, ...]:
    """Every legal multiply of a core; None for all that a preset has: none is sparse."""
    dense = (family for family in CORE_FAMILIES if not family.is_sparse)
    families = dense if config is None else config.families
    return tuple(instruction for family in families for instruction in _multiplies(family))


def names_of(instruction: MmaInstruction) -> tuple[str, ...]:
    """By what programs are steered to a multiply: the type of A or of scales, or without a kind all types."""
    return instruction.a_type, instruction.scale_type, "" if instruction.kind else all_types(instruction)


def all_types(instruction: MmaInstruction) -> str:
    """The types of a multiply, as bins of functional coverage name them."""
    return f"{instruction.a_type}.{instruction.b_type} + {instruction.c_type} to {instruction.d_type}"


def accesses_of(config: CoreConfig) -> tuple[Access, ...]:
    """Every legal load and store of a core, each with a generic address."""
    return tuple(access_of(*row) for row in legal_fragments(config))


def places_of(config: CoreConfig) -> tuple[str, ...]:
    """Those of `PLACES` that a core has."""
    return PLACES if config.shared_bytes else PLACES[::2]


def access_of(use: Use, type: str, shape: Shape, layout: Layout) -> Access:
    """The store of a D, or the load of another operand, with a generic address."""
    if use == "d":
        return StoreInstruction(layout=layout, shape=shape, type=type, space="generic")
    return LoadInstruction(use=use, layout=layout, shape=shape, type=type, space="generic")


def access_at(instruction: Access, place: str) -> Access:
    """A load or store in the state space of one of `PLACES`."""
    spaces: dict[str, Space] = {"global": "global", "shared": "shared"}
    return replace(instruction, space=spaces.get(place, "generic"))


def access_command(
    instruction: Access, place: str, register: int, address: int, stride: int | None
) -> Load | Store:
    """The command of a load or a store, in the state space of one of `PLACES`."""
    instruction = access_at(instruction, place)
    if isinstance(instruction, StoreInstruction):
        return Store(instruction, register, address, stride)
    return Load(instruction, register, address, stride)


def stride_unit(instruction: Access) -> int:
    """The number of elements that legal strides in its state space are multiples of."""
    return instruction.core_alignment * 8 // instruction.fragment.element_bits


def default_stride(instruction: Access) -> int:
    """The elements of a line."""
    return instruction.shape.default_stride(instruction.use, instruction.layout)


@cache
def commands_of(unit: str, config: CoreConfig) -> tuple[Command, ...]:
    """Every form of a unit's commands on a core, on the first registers; none of a unit it lacks."""
    if "matrix" in unit and not config.shared_bytes:
        return ()
    match unit:
        case "load" | "store":
            accesses = [item for item in accesses_of(config) if (item.use == "d") == (unit == "store")]
            return tuple(access_command(item, "generic", 0, 0, None) for item in accesses)
        case "tile" | "f64" | "sparse":
            commands = (Mma(item, 0, 0, 0, 0) for item in multiplies_of(config))
            return tuple(item for item in commands if unit_of(item) == unit)
        case "wgmma":
            shares = (Wgmma(forms[0], 0, 0, 0) for forms in share_forms(config))
            in_registers = (False, True)
            return tuple(
                replace(share, a=accumulator_registers(share) * from_registers, a_in_registers=from_registers)
                for share, from_registers in product(shares, in_registers)
            )
        case "fill":
            return tuple(Fill(0, count, 0) for count in range(1, 33))
        case "move":
            return tuple(Move(0, 0, count) for count in range(1, 33))
        case "movmatrix":
            return (MoveMatrix(0, 0),)
    move = LoadMatrix if unit == "ldmatrix" else StoreMatrix
    return tuple(move(0, 0, *form) for form in product(MATRIX_COUNTS, (False, True)))


def unit_of(command: Command) -> str:
    """One of `UNITS` or `OPTIONS`."""
    match command:
        case Mma(instruction) if instruction.is_sparse:
            return "sparse"
        case Mma(instruction):
            return "f64" if instruction.a_type == "f64" else "tile"
        case LoadMatrix() | StoreMatrix() | MoveMatrix():
            return command.instruction.mnemonic
        case _:
            return type(command).__name__.lower()


def operands_of(command: Command) -> dict[str, tuple[int, bool]]:
    """How many registers each operand of a command has, and whether it is written; by its field."""
    match command:
        case Mma(instruction):
            operands: dict[str, tuple[int, bool]] = {
                use: (layout.registers, use == "d") for use, layout in instruction.fragments.items()
            }
            return operands | dict.fromkeys(instruction.side_registers, (1, False))
        case Wgmma():
            a = {"a": (A_REGISTERS, False)} if command.a_in_registers else {}
            return {"d": (accumulator_registers(command), True), **a}
        case Load(instruction) | Store(instruction):
            return {"register": (instruction.fragment.registers, isinstance(command, Load))}
        case LoadMatrix() | StoreMatrix():
            return {"register": (command.count, isinstance(command, LoadMatrix)), "addresses": (1, False)}
        case Fill():
            return {"register": (command.count, True)}
        case Move() | MoveMatrix():
            count = command.count if isinstance(command, Move) else 1
            return {"destination": (count, True), "source": (count, False)}


def registers_of(command: Command, without: Collection[str] = ()) -> dict[str, list[range]]:
    """What a command ``reads``, and what it ``writes``; but for operands of some names."""
    found: dict[str, list[range]] = {"reads": [], "writes": []}
    for name, (size, is_written) in operands_of(command).items():
        if name in without:
            continue
        first = getattr(command, name)
        found["writes" if is_written else "reads"].append(range(first, first + size))
    return found
