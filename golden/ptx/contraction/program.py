"""The statements of a program of one warp as `golden.ptx.contraction` sees and changes them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from golden.ptx.contraction.edits import Edit
from golden.ptx.contraction.flow import Code, Flow, Statement, addends
from golden.ptx.contraction.forms import SIGNS, immediate, one, register_type
from golden.ptx.contraction.passes import Contraction, contract
from golden.ptx.scalar_types import TYPES
from golden.ptx.source import Source
from golden.ptx.syntax import Body, Immediate, Instruction, Operand, Register, Symbol, Vector, parts

__all__ = ["contract_body"]

_BRANCHES: Final = frozenset({"bra", "ret", "exit"})
_WITHOUT_RESULT: Final = _BRANCHES | {"bar", "barrier", "st", "stmatrix"}


def contract_body(source: Source, body: Body) -> tuple[Body, tuple[Contraction, ...]]:
    """A body as NVIDIA's assembler changes it, and the additions joined with multiplications.

    Its statements are known to be legal. Multiplications that are not needed any more are left out.
    """
    changing = _Statements(body)
    before = {id(item) for item in changing.live()}
    found = contract(changing, lambda instruction: source.line(instruction.location))
    if changing.body is not body:
        changing.drop(before)
    return changing.body, found


class _Statements:
    """Implements `golden.ptx.contraction.passes.Body`."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self._slots: dict[str, int] = {}
        self._constants = 0

    def code(self) -> Code:
        """The statements, cut at labels and branches."""
        statements = self.body.instructions
        labels = self.body.labels
        if not statements:
            return Code([[]], [()], [False], self._slots)
        targets = [_target(statement, labels) for statement in statements]
        starts = {0, *labels.values()} | {
            index + 1 for index, item in enumerate(statements) if item.opcode[0] in _BRANCHES
        }
        cuts = sorted(start for start in starts if start < len(statements))
        block_of = {start: number for number, start in enumerate(cuts)}
        blocks, successors, goes_on = [], [], []
        for start, end in zip(cuts, [*cuts[1:], len(statements)], strict=True):
            blocks.append([self._statement(item) for item in statements[start:end]])
            last = statements[end - 1]
            branches = last.opcode[0] in _BRANCHES
            ways = {end} if not branches or last.guard is not None else set()
            goes_on.append(not branches or last.guard is None)
            ways |= {targets[end - 1]} if branches else set()
            successors.append(tuple(sorted(block_of[way] for way in ways if way in block_of)))
        return Code(blocks, successors, goes_on, self._slots)

    def apply(self, edits: Mapping[int, Edit]) -> None:
        """Put new statements among the others, and move the labels."""
        statements: list[Instruction] = []
        moved = []
        for index, statement in enumerate(self.body.instructions):
            moved.append(len(statements))
            edit = edits.get(index)
            if edit is None:
                statements.append(statement)
                continue
            new = [*edit.before, edit.instead or statement, *edit.after]
            kept = new.index(statement) if edit.instead is None else -1
            for place, item in enumerate(new):
                statements += [item] if place == kept else self._supported(item)
        moved.append(len(statements))
        self._set(statements, moved)

    def live(self) -> list[Instruction]:
        """The statements that are not dead."""
        flow = Flow(self.code())
        return [flow.statements[place].instruction for place in flow.live]

    def drop(self, candidates: set[int]) -> None:
        """Leave out the dead statements among some, given by their `id`."""
        live = {id(item) for item in self.live()}
        statements: list[Instruction] = []
        moved = []
        for statement in self.body.instructions:
            moved.append(len(statements))
            if id(statement) in live or id(statement) not in candidates:
                statements.append(statement)
        moved.append(len(statements))
        self._set(statements, moved)

    def _set(self, statements: list[Instruction], moved: list[int]) -> None:
        labels = {key: moved[index] for key, index in self.body.labels.items()}
        self.body = replace(self.body, instructions=tuple(statements), labels=labels)

    def _supported(self, statement: Instruction) -> list[Instruction]:
        """A new statement as those that a program of one warp may have."""
        if statement.opcode[0] == "neg":
            type_ = statement.opcode[-1]
            bits = one(type_) | SIGNS[type_]
            register, move = self._constant(type_, bits, statement)
            target, value = statement.operands
            multiply = ("mul", "rn", type_)
            return [move, replace(statement, opcode=multiply, operands=(target, value, register))]
        if statement.opcode[0] != "mma" or not isinstance(statement.operands[3], Vector):
            return [statement]
        moves = []
        elements: list[Operand] = []
        for element in statement.operands[3].elements:
            if isinstance(element, Immediate):
                type_ = "f32" if statement.opcode[-1] == "f32" else "f16x2"
                element, move = self._constant(type_, element.value, statement)  # noqa: PLW2901
                moves.append(move)
            elements.append(element)
        vector = replace(statement.operands[3], elements=tuple(elements))  # type: ignore[arg-type]
        operands = (*statement.operands[:3], vector, *statement.operands[4:])
        return [*moves, replace(statement, operands=operands)]

    def _constant(self, type_: str, bits: int, near: Instruction) -> tuple[Register, Instruction]:
        self._constants += 1
        name = f"%constant:{self._constants}"
        held = register_type(type_)
        register = Register(name, name, TYPES[held], near.location)
        move = Instruction(("mov", held), (register, immediate(bits, type_, register)), None, near.location)
        return register, move

    def _statement(self, statement: Instruction) -> Statement:
        pure = statement.opcode[0] not in _WITHOUT_RESULT and statement.opcode[:2] != ("wmma", "store")
        targets, sources = statement.operands[:1], statement.operands[1:]
        if not pure:
            targets, sources = (), statement.operands
        reads = self._numbers(sources)
        if statement.guard is not None:
            reads += self._numbers((statement.guard.register,))
        return Statement(
            statement,
            reads,
            self._numbers(targets),
            guarded=statement.guard is not None,
            pure=pure,
            fixed=statement.opcode[0] == "ld" and statement.opcode[1].startswith("param"),
            needs=addends(statement, self._numbers),
        )

    def _numbers(self, operands: Iterable[Operand]) -> tuple[int, ...]:
        registers = (part for operand in operands for part in parts(operand) if isinstance(part, Register))
        return tuple(dict.fromkeys(self._slots.setdefault(item.key, len(self._slots)) for item in registers))


def _target(statement: Instruction, labels: Mapping[str, int]) -> int:
    """Where a branch goes; -1 for the end, and where it goes nowhere."""
    (label,) = statement.operands if len(statement.operands) == 1 else (None,)
    is_branch = statement.opcode[0] == "bra" and isinstance(label, Symbol)
    return labels.get(label.key, -1) if is_branch else -1  # type: ignore[union-attr]
