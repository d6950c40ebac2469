"""Both passes over the blocks of a kernel, and what they changed."""

from collections.abc import Sequence
from dataclasses import dataclass

from golden.ptx.blocks import Block
from golden.ptx.contraction.flow import Flow
from golden.ptx.contraction.rewriting import fuse
from golden.ptx.contraction.rule import join, may_join
from golden.ptx.contraction.simplification import may_simplify, simplify
from golden.ptx.decoding import Context
from golden.ptx.source import SourceLine


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
    if any(may_simplify(step.instruction) for block in blocks for step in block.steps):
        simplify(Flow(context, blocks, calls))
    if not may_join([step.instruction for block in blocks for step in block.steps]):
        return ()
    flow = Flow(context, blocks, calls)
    joins = join(flow)
    fuse(flow, joins)

    def line(place: int) -> SourceLine:
        return context.source.line(flow.statements[place].instruction.location)

    return tuple(Contraction(line(item.product.place), line(item.place)) for item in joins)
