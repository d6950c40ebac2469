"""Changes of a body: what stands before a statement, in its place and behind it."""

from collections import defaultdict
from dataclasses import replace

from golden.ptx.contraction.flow import Flow
from golden.ptx.decoding import Step
from golden.ptx.scalar_types import TYPES
from golden.ptx.syntax import Instruction, Operand, Register


class Edits:
    """The changes of one pass over the statements of `flow`, and its new registers.

    `stem` begins the names of the new registers, which no PTX text can have.
    """

    def __init__(self, flow: Flow, stem: str) -> None:
        self._flow = flow
        self._stem = stem
        self._count = 0
        self._before: dict[int, list[Instruction]] = defaultdict(list)
        self._copies: dict[tuple[int, str], Register] = {}
        self.instead: dict[int, Instruction] = {}
        """What takes the place of statements, by their numbers."""
        self.after: dict[int, list[Instruction]] = defaultdict(list)
        """What follows them."""

    def before(self, place: int, name: str, *operands: Operand) -> Register:
        """Add an instruction before a statement; its result is a new register."""
        location = self._flow.statements[place].instruction.location
        self._count += 1
        register = f"{self._stem}:{self._count}"
        type_ = "pred" if name.startswith("setp.") else name.rpartition(".")[2]
        target = Register(register, register, TYPES[type_], location)
        self._before[place].append(Instruction.of(name, location, target, *operands))
        return target

    def kept(self, place: int, operand: Operand, later: int, *, behind: bool = False) -> Operand:
        """A source of a statement as `later` must read it: as it is, or copied where its register is lost.

        With `behind`, it is read after `later`.
        """
        if not isinstance(operand, Register) or operand.key not in self._flow.context.slots:
            return operand
        if self._flow.is_kept(operand, place, later, behind=behind):
            return operand
        key = (place, operand.key)
        if key not in self._copies:
            self._copies[key] = self.before(place, f"mov.b{operand.type.bits}", operand)
        return self._copies[key]

    def replace(self, place: int, name: str, *operands: Operand) -> None:
        """Put another instruction in the place of a statement, with its destination and guard."""
        old = self._flow.statements[place].instruction
        self.instead[place] = Instruction.of(name, old.location, old.operands[0], *operands, guard=old.guard)

    def apply(self) -> None:
        """Decode what is new, and put it into the blocks."""
        decode, number = self._flow.context.decode, 0
        for block in self._flow.blocks:
            steps: list[Step] = []
            for step in block.steps:
                new = self.instead.get(number)
                if new is not None and step.mask is not None:
                    # The guard of an instruction of a whole warp has become a branch around it.
                    new = replace(new, guard=None)
                steps += [decode(item, step.index) for item in self._before[number]]
                steps.append(step if new is None else decode(new, step.index))
                steps += [decode(item, step.index) for item in self.after[number]]
                number += 1
            block.steps = steps
            number += block.terminator is not None
