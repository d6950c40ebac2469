"""Both passes over a body, and what they changed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from golden.ptx.contraction.edits import Edit
from golden.ptx.contraction.flow import Code, Flow
from golden.ptx.contraction.rewriting import fuse
from golden.ptx.contraction.rule import join, may_join
from golden.ptx.contraction.simplification import may_simplify, simplify
from golden.ptx.source import SourceLine
from golden.ptx.syntax import Instruction

__all__ = ["Body", "Contraction", "contract"]


@dataclass(frozen=True)
class Contraction:
    """An addition that is executed as one operation with a multiplication.

    Parameters
    ----------
    product, sum : SourceLine
        The multiplication or division, and the addition or ``mma.sync``.
    """

    product: SourceLine
    sum: SourceLine

    def __str__(self) -> str:
        return f"{self.product} -> {self.sum}"


class Body(Protocol):
    """A body that can be read and changed."""

    def code(self) -> Code:
        """The statements of the body, in straight blocks."""

    def apply(self, edits: Mapping[int, Edit]) -> None:
        """Change the body; statements are numbered as in the last `code`."""


def contract(body: Body, line: Callable[[Instruction], SourceLine]) -> tuple[Contraction, ...]:
    """Change a body as NVIDIA's assembler does; see docs/explanation/contraction.md.

    Parameters
    ----------
    body : Body
    line : callable
        The line of an instruction.
    """
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
    lines = [(line(instructions[item.product.place]), line(instructions[item.place])) for item in joins]
    return tuple(Contraction(product, total) for product, total in lines)
