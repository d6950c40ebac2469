"""What each fragment register holds, so that a multiply can be refused operands that are not its own."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from golden.ptx.matrix import WarpStatement
from golden.ptx.source import Source
from golden.ptx.syntax import Register
from golden.tables.commands import ElementType
from golden.tables.instruction_set import Layout, Shape, Use
from golden.tables.matrix_instructions import MmaInstruction
from golden.tables.matrix_moves import MoveInstruction

_HOLDING: Final = MappingProxyType[ElementType, tuple[str, ...]](
    {"f16": ("f16",), "f32": ("f32", "tf32"), "f64": ("f64",), "s32": ("s32",), "u32": ("s32",)}
)
"""Types of fragments whose elements each type of arithmetic works on."""


@dataclass(frozen=True)
class _Fragment:
    """What the registers of a fragment must agree on."""

    matrix: str
    """In words; c and d are both an accumulator, and interchangeable."""
    shape: Shape
    type: str
    layout: Layout | None
    """None for accumulators, whose registers are the same for both."""


@dataclass(frozen=True)
class _Origin:
    """What one register holds."""

    fragment: _Fragment | None
    """None for a register that fits everywhere: filled with one value, or made by raw ``mma`` or a move of
    matrices."""
    element: int
    """Which register of the fragment it is."""
    line: int
    """Where it was written."""


@dataclass
class Provenance:
    """What the fragment registers of one evaluation hold."""

    source: Source
    """For messages."""
    checked: bool = True
    """Whether anything is refused; otherwise every register fits everywhere, written or not."""
    _origins: dict[str, _Origin] = field(default_factory=dict)

    def fill(self, register: Register) -> None:
        """Note that a register now holds the same value in every lane."""
        self._origins[register.key] = _Origin(None, 0, register.location.line)

    def move(self, destination: Register, source: Register) -> None:
        """Note a copy."""
        self._origins[destination.key] = self._origin(source)

    def compute(self, destination: Register, sources: Sequence[Register], element: ElementType) -> None:
        """Check what arithmetic on elements reads, and note that its result is of the same fragment.

        PtxError for a register that was never written, elements of another type, and registers that are not
        the same one of like fragments.
        """
        shaped = [(register, self._origin(register)) for register in sources]
        shaped = [(register, origin) for register, origin in shaped if origin.fragment is not None]
        for register, origin in shaped:
            held = origin.fragment.type if origin.fragment is not None else ""
            if held not in _HOLDING[element]:
                raise self.source.error(
                    register.location,
                    f"{register.name} from line {origin.line} holds .{held}, "
                    f"whose elements .{element} arithmetic does not take",
                )
            first_register, first = shaped[0]
            if (origin.fragment, origin.element) != (first.fragment, first.element):
                raise self.source.error(
                    register.location,
                    f"{register.name} from line {origin.line} and {first_register.name} from line "
                    f"{first.line} do not hold the same elements of like fragments",
                )
        line = destination.location.line
        self._origins[destination.key] = (
            _Origin(shaped[0][1].fragment, shaped[0][1].element, line) if shaped else _Origin(None, 0, line)
        )

    def execute(self, matrix: WarpStatement) -> None:
        """Check what a matrix statement reads, and note what it writes.

        PtxError for a register that was never written, and for a fragment whose layout, type, shape or order
        of registers is not the type of the instruction that made it.
        """
        for use, registers in matrix.fragments.items():
            if use != matrix.destination:
                for element, register in enumerate(registers):
                    self._check(matrix, use, element, register)
        if matrix.rows is not None and matrix.address is None:
            self._origin(matrix.rows)
        if matrix.destination is not None:
            made = _fragment(matrix, matrix.destination)
            for element, register in enumerate(matrix.fragments[matrix.destination]):
                line = matrix.statement.location.line
                self._origins[register.key] = _Origin(made, element, line)

    def _origin(self, register: Register) -> _Origin:
        origin = self._origins.get(register.key)
        if not self.checked:
            return _Origin(None, 0, register.location.line)
        if origin is None:
            raise self.source.error(register.location, f"{register.name} is read before it is written")
        return origin

    def _check(self, matrix: WarpStatement, use: Use, element: int, register: Register) -> None:
        origin = self._origin(register)
        needed = _fragment(matrix, use)
        found = origin.fragment
        if found is None or needed is None:
            return
        qualifiers = ((found.type, needed.type), (found.shape, needed.shape), (found.layout, needed.layout))
        unlike = [f"has .{have}, not .{wanted}" for have, wanted in qualifiers if have != wanted]
        if found.matrix != needed.matrix:
            difference = f"is of {found.matrix}, not of {needed.matrix}"
        elif unlike:
            difference = unlike[0]
        elif origin.element != element:
            difference = f"is register {origin.element} of its fragment, not {element}"
        else:
            return
        raise self.source.error(
            register.location, f"operand {use}: {register.name} from line {origin.line} {difference}"
        )


def _fragment(matrix: WarpStatement, use: Use) -> _Fragment | None:
    """What the instruction says about its operand `use`; None for operands of any registers."""
    instruction = matrix.instruction
    if isinstance(instruction, MoveInstruction):
        return None
    if not isinstance(instruction, MmaInstruction):
        type_, layout = instruction.type, instruction.layout
    elif instruction.mnemonic == "wmma":
        type_, layout = instruction.types[use], instruction.layout(use)
    else:
        return None
    if use in "cd":
        return _Fragment("an accumulator", instruction.shape, type_, None)
    return _Fragment(f"matrix {use}", instruction.shape, type_, layout)
