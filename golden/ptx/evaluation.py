"""One run of an entry of one warp: scalar values, what fragment registers hold, and the commands."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NamedTuple

from golden.ptx.allocation import Allocation
from golden.ptx.blocks import EXIT, Block, Terminator
from golden.ptx.decoding import Step, constant_bits
from golden.ptx.matrix import WarpStatement
from golden.ptx.scalar_types import TYPES
from golden.ptx.source import Source, SourceLine
from golden.ptx.special_registers import SPECIAL, Geometry
from golden.ptx.syntax import Immediate, Negated, Operand, Register, SpecialRegister, Symbol
from golden.tables.commands import ElementType, Fill, Move, SetLanes, Work
from golden.tables.instruction_set import Layout, Shape, Use
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import MmaInstruction, MoveInstruction

LaneValue = int | tuple[int, ...]
"""One number where all lanes have the same; else one for each lane."""

_HOLDING: Final[Mapping[ElementType, tuple[str, ...]]] = {
    **{"f16": ("f16",), "f32": ("f32", "tf32"), "f64": ("f64",)},
    **{"s32": ("s32",), "u32": ("s32",)},
}
"""Types of fragments whose elements each type of arithmetic works on."""


def by_lane(function: Callable[..., int], *operands: LaneValue) -> LaneValue:
    """Compute lane by lane; once where no operand differs between lanes."""
    if all(isinstance(operand, int) for operand in operands):
        return function(*operands)
    columns = (operand if isinstance(operand, tuple) else (operand,) * LANES for operand in operands)
    return _collapsed(tuple(map(function, *columns)))


def by_array(function: Callable[..., Any], widths: Sequence[int], *operands: LaneValue) -> list[LaneValue]:
    """The results of a function of arrays, such as `golden.scalar.Operation.evaluate`; loads numpy.

    `widths` are the bits of each operand; 1 for a predicate.
    """
    import numpy as np  # noqa: PLC0415  integers alone need none

    arrays = [
        np.array(operand if isinstance(operand, tuple) else (operand,), "?" if bits == 1 else f"u{bits // 8}")
        for bits, operand in zip(widths, operands, strict=True)
    ]
    with np.errstate(all="ignore"):
        outcome = function(*arrays)
    results = outcome if isinstance(outcome, tuple) else (outcome,)
    return [_collapsed(tuple(map(int, np.broadcast_to(result, LANES).tolist()))) for result in results]


def _collapsed(values: tuple[int, ...]) -> LaneValue:
    return values[0] if values.count(values[0]) == LANES else values


@cache
def _special(name: str, geometry: Geometry) -> LaneValue:
    """A predefined register."""
    value = SPECIAL[name].value
    return by_lane(lambda lane: int(value(geometry, lane, None)), tuple(range(LANES)))


def difference(values: tuple[int, ...]) -> str:
    """Two lanes that differ, for a message."""
    lane = next(lane for lane, value in enumerate(values) if value != values[0])
    return f"is {values[0]:#x} in lane 0 and {values[lane]:#x} in lane {lane}"


class _Held(NamedTuple):
    """What a register of a fragment holds."""

    matrix: str
    """In words; c and d are both an accumulator, and interchangeable."""
    type: str
    shape: Shape
    layout: Layout | None
    """None for accumulators, whose registers are the same for both."""
    element: int
    """Which register of the fragment it is."""


_DIFFERENCES: Final = (
    "is of {}, not of {}",
    *("has .{}, not .{}",) * 3,
    "is register {} of its fragment, not {}",
)
"""What is wrong, by the field of `_Held` that differs."""

_Origin = tuple[_Held | None, int]
"""What a register holds, and the line where it was written.

None for one that fits everywhere: filled with one value, or made by raw ``mma`` or a move of matrices."""


@dataclass
class Provenance:
    """What the fragment registers of one evaluation hold."""

    source: Source
    checked: bool = True
    """Whether anything is refused; otherwise every register fits everywhere, written or not."""
    _origins: dict[str, _Origin] = field(default_factory=dict)

    def fill(self, register: Register) -> None:
        """Note that a register now holds the same value in every lane."""
        self._origins[register.key] = None, register.location.line

    def move(self, destination: Register, source: Register) -> None:
        """Note a copy."""
        self._origins[destination.key] = self._origin(source)

    def compute(self, destination: Register, sources: Sequence[Register], element: ElementType) -> None:
        """Check what arithmetic on elements reads, and note that its result is of the same fragment.

        PtxError for a register that was never written, elements of another type, and registers that are not
        the same one of like fragments.
        """
        origins = [(register, *self._origin(register)) for register in sources]
        shaped = [(register, held, line) for register, held, line in origins if held is not None]
        for register, held, line in shaped:
            where = f"{register.name} from line {line}"
            if held.type not in _HOLDING[element]:
                message = f"{where} holds .{held.type}, whose elements .{element} arithmetic does not take"
                raise self.source.error(register.location, message)
            first, first_held, first_line = shaped[0]
            if held != first_held:
                both = f"{where} and {first.name} from line {first_line}"
                message = f"{both} do not hold the same elements of like fragments"
                raise self.source.error(register.location, message)
        made = shaped[0][1] if shaped else None
        self._origins[destination.key] = made, destination.location.line

    def execute(self, matrix: WarpStatement) -> None:
        """Check what a matrix statement reads, and note what it writes.

        PtxError for a register that was never written, and for a fragment whose layout, type, shape or order
        of registers is not the type of the instruction that made it.
        """
        for use, registers in matrix.fragments.items():
            if use != matrix.destination:
                for element, register in enumerate(registers):
                    self._check(register, use, _held(matrix, use, element))
        if matrix.rows is not None and matrix.address is None:
            self._origin(matrix.rows)
        if matrix.destination is not None:
            for element, register in enumerate(matrix.fragments[matrix.destination]):
                made = _held(matrix, matrix.destination, element)
                self._origins[register.key] = made, matrix.statement.location.line

    def _origin(self, register: Register) -> _Origin:
        origin = self._origins.get(register.key)
        if not self.checked:
            return None, register.location.line
        if origin is None:
            raise self.source.error(register.location, f"{register.name} is read before it is written")
        return origin

    def _check(self, register: Register, use: Use, needed: _Held | None) -> None:
        found, line = self._origin(register)
        if found is None or needed is None:
            return
        for text, have, wanted in zip(_DIFFERENCES, found, needed, strict=True):
            if have != wanted:
                message = f"operand {use}: {register.name} from line {line} {text.format(have, wanted)}"
                raise self.source.error(register.location, message)


def _held(matrix: WarpStatement, use: Use, element: int) -> _Held | None:
    """What the instruction says about a register of its operand `use`; None for operands of any registers."""
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
        return _Held("an accumulator", type_, instruction.shape, None, element)
    return _Held(f"matrix {use}", type_, instruction.shape, layout, element)


@dataclass
class Evaluation:
    """One run of an entry."""

    source: Source
    parameters: bytes
    allocation: Allocation
    addresses: Mapping[str, int]
    """Of the variables, by key; in ``.shared`` from zero on."""
    shared_base: int
    """Generic address of the first byte of shared memory."""
    geometry: Geometry
    """Of the only block."""
    provenance: Provenance
    commands: list[Work] = field(default_factory=list)
    """What the statement under evaluation has given rise to."""
    _values: dict[str, LaneValue] = field(default_factory=dict)

    def value(self, operand: Operand, bits: int) -> LaneValue:
        """The low bits of a source operand."""
        if isinstance(operand, Immediate):
            return constant_bits(operand, bits)
        if isinstance(operand, Negated):
            return by_lane(lambda bit: 1 - bit, self.read(operand.register))
        if isinstance(operand, Register):
            value = self.read(operand)
            if operand.type.bits == bits:
                return value
        elif isinstance(operand, SpecialRegister):
            value = _special(operand.name, self.geometry)
        else:
            assert isinstance(operand, Symbol), operand
            value = self.addresses[operand.key] + operand.offset
        mask = (1 << bits) - 1
        return by_lane(lambda whole: whole & mask, value)

    def uniform(self, operand: Operand, bits: int, what: str) -> int:
        """The low bits of a source operand that must be the same in all lanes; `what` it is."""
        value = self.value(operand, bits)
        if isinstance(value, tuple):
            message = f"{what} {difference(value)}; it must be the same in all lanes"
            raise self.source.error(operand.location, message)
        return value

    def read(self, register: Register) -> LaneValue:
        """The bit pattern in a scalar register."""
        value = self._values.get(register.key)
        if value is None:
            raise self.source.error(register.location, f"{register.name} is read before it is written")
        return value

    def put(self, target: Operand, value: LaneValue, bits: int, *, signed: bool = False) -> None:
        """Give a destination the low bits of a value, extended where it is wider."""
        if isinstance(target, Register):
            if bits < target.type.bits:
                value = by_lane(TYPES[f"{'s' if signed else 'b'}{bits}"].interpret, value)
            self.write(target, value)

    def write(self, register: Register, pattern: LaneValue) -> None:
        """Put a bit pattern into a register, for all lanes or for each.

        A register of the machine is filled where all lanes get the same, else set by the host.
        """
        pattern = by_lane(register.type.wrap, pattern)
        position = self.allocation.position.get(register.key)
        if position is None:
            self._values[register.key] = pattern
            return
        self.provenance.fill(register)
        for word in range(register.type.bits // 32):
            place = position + word
            value = by_lane(lambda whole, by=32 * word: whole >> by & 0xFFFFFFFF, pattern)
            work = SetLanes(place, value) if isinstance(value, tuple) else Fill(place, 1, value)
            self.commands.append(work)

    def move(self, destination: Register, source: Register) -> None:
        """Copy one fragment register to another."""
        self.provenance.move(destination, source)
        to, of = (self.allocation.position[register.key] for register in (destination, source))
        self.commands.append(Move(to, of, destination.type.bits // 32))


Action = Callable[[Evaluation], None]
"""What a statement does to an evaluation."""


def run(evaluation: Evaluation, blocks: Sequence[Block], limit: int) -> Iterator[tuple[Work, SourceLine]]:
    """Evaluate blocks from the first one on, and yield their commands as they come.

    Their steps are to be given the evaluation. After `limit` statements, a PtxError.
    """
    source = evaluation.source
    number = evaluated = 0
    while number != EXIT:
        block = blocks[number]
        for statement in (*block.steps, block.terminator):
            if statement is None:
                continue
            evaluated += 1
            location = statement.instruction.location
            if evaluated > limit:
                message = f"still running after {limit} instructions; is this an endless loop?"
                raise source.error(location, message)
            holds = _holds(evaluation, statement)
            if isinstance(statement, Terminator):
                jumps = holds and statement.kind == "branch"
                number = int(statement.targets[0]) if jumps else number + 1
            elif holds:
                statement.emit(evaluation)
            if evaluation.commands:
                line = source.line(location)
                yield from ((command, line) for command in evaluation.commands)
                evaluation.commands.clear()
        number += block.terminator is None


def _holds(evaluation: Evaluation, statement: Step | Terminator) -> bool:
    """Whether the guard of a statement lets it be executed."""
    if statement.guard is None or statement.instruction.guard is None:
        return True
    register = statement.instruction.guard.register
    value = evaluation.read(register)
    if isinstance(value, tuple):
        raise evaluation.source.error(
            register.location,
            f"{register.name} {difference(value)}; one warp without --block takes the same way in all lanes",
        )
    return bool(value) != statement.guard[1]
