"""Both passes over the blocks of a kernel, and what they changed."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from golden.ptx.blocks import Block
from golden.ptx.contraction.edits import Edit
from golden.ptx.contraction.flow import Code, Flow, Statement, addends
from golden.ptx.contraction.rewriting import fuse
from golden.ptx.contraction.rule import join, may_join
from golden.ptx.contraction.simplification import may_simplify, simplify
from golden.ptx.decoding import Context, Step
from golden.ptx.liveness import successors
from golden.ptx.source import SourceLine
from golden.ptx.syntax import Address, Instruction
from golden.tables.matrix_instructions import MmaInstruction


@dataclass(frozen=True)
class Contraction:
    """An addition that is executed as one operation with a multiplication."""

    product: SourceLine
    sum: SourceLine
    """The multiplication or division, and the addition or ``mma.sync``."""

    def __str__(self) -> str:
        return f"{self.product} -> {self.sum}"


def contract_blocks(
    context: Context, blocks: Sequence[Block], calls: Sequence[int] = ()
) -> tuple[Contraction, ...]:
    """Change the blocks of a kernel as NVIDIA's assembler does; see docs/explanation/contraction.md.

    Before the instructions `calls`, in ascending order, a call begins or ends. The additions that were joined
    with multiplications are returned.
    """
    body = _Blocks(context, blocks, calls)
    code = body.code()
    if any(may_simplify(statement.instruction) for block in code.blocks for statement in block):
        edits = simplify(Flow(code))
        if edits.of:
            body.apply(edits.of)
            code = body.code()
    instructions = [statement.instruction for block in code.blocks for statement in block]
    if not may_join(instructions):
        return ()
    flow = Flow(code)
    joins = join(flow)
    body.apply(fuse(flow, joins).of)
    line = context.source.line
    return tuple(
        Contraction(line(instructions[item.product.place].location), line(instructions[item.place].location))
        for item in joins
    )


class _Blocks:
    """The blocks as the passes read and change them."""

    def __init__(self, context: Context, blocks: Sequence[Block], calls: Sequence[int]) -> None:
        self._context = context
        self._blocks = blocks
        self._calls = calls

    def code(self) -> Code:
        """What the kernel consists of: each terminator is the last statement of its block."""
        blocks = []
        for block in self._blocks:
            statements = [self._statement(step) for step in block.steps]
            end = block.terminator
            if end is not None:
                segment = bisect_right(self._calls, end.index)
                statements.append(
                    Statement(end.instruction, end.reads, end.writes, pure=False, segment=segment)
                )
            blocks.append(statements)
        goes_on = [
            end is None
            or end.kind in ("barrier", "warp barrier")
            or (end.kind == "branch" and end.guard is None)
            for end in (block.terminator for block in self._blocks)
        ]
        following = [successors(self._blocks, number) for number in range(len(self._blocks))]
        return Code(blocks, following, goes_on, self._context.slots)

    def apply(self, edits: Mapping[int, Edit]) -> None:
        """Decode what is new."""
        number = 0
        for block in self._blocks:
            steps: list[Step] = []
            for step in block.steps:
                edit = edits.get(number)
                if edit is None:
                    steps.append(step)
                else:
                    steps += [self._context.decode(item, step.index) for item in edit.before]
                    steps.append(step if edit.instead is None else self._again(edit.instead, step))
                    steps += [self._context.decode(item, step.index) for item in edit.after]
                number += 1
            block.steps = steps
            number += block.terminator is not None

    def _again(self, instruction: Instruction, old: Step) -> Step:
        # The guard of an instruction of a whole warp has become a branch around it.
        guard = instruction.guard if old.mask is None else None
        return self._context.decode(replace(instruction, guard=guard), old.index)

    def _statement(self, step: Step) -> Statement:
        return Statement(
            step.instruction,
            step.reads,
            step.writes,
            guarded=step.guard is not None,
            pure=step.pure or isinstance(step.matrix, MmaInstruction),
            fixed=self._is_fixed(step.instruction),
            segment=bisect_right(self._calls, step.index),
            needs=addends(step.instruction, self._context.registers),
        )

    def _is_fixed(self, instruction: Instruction) -> bool:
        name, operands = instruction.opcode[0], instruction.operands
        place = operands[1] if name == "ld" and len(operands) > 1 else None
        return isinstance(place, Address) and self._context.space_of(place) in ("entry", "const")
