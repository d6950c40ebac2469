"""The passes over the blocks of a kernel; the second one makes fused multiply-adds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from golden.ptx.blocks import Block
from golden.ptx.contraction.flow import Edits, Flow
from golden.ptx.contraction.forms import (
    ATOMICS,
    FUSED,
    SIGNS,
    Form,
    division,
    form,
    immediate,
    inner_sum,
    literal,
)
from golden.ptx.contraction.order import may_order, order
from golden.ptx.contraction.rule import Join, Product, join, may_join
from golden.ptx.contraction.simplification import factors, may_simplify, simplify
from golden.ptx.decoding import Context
from golden.ptx.source import SourceLine
from golden.ptx.syntax import Instruction, Operand, Vector


@dataclass(frozen=True)
class Contraction:
    """An addition that is executed as one operation with a multiplication."""

    product: SourceLine
    sum: SourceLine
    """The multiplication or division, and the addition or ``mma.sync``."""

    def __str__(self) -> str:
        return f"{self.product} -> {self.sum}"


def contract_blocks(
    context: Context, blocks: Sequence[Block], calls: Sequence[int], starts: Sequence[int]
) -> tuple[Contraction, ...]:
    """Change the blocks of a kernel as NVIDIA's assembler does; see docs/explanation/contraction.md.

    Before the instructions `calls`, in ascending order, a call begins or ends; `starts` are the first blocks
    of the kernel and of the functions that it calls. The additions that were joined with multiplications are
    returned.
    """
    if any(may_simplify(step.instruction) for block in blocks for step in block.steps):
        simplify(Flow(context, blocks, calls, starts))
    joined: tuple[Contraction, ...] = ()
    if may_join([step.instruction for block in blocks for step in block.steps]):
        flow = Flow(context, blocks, calls, starts)
        joins = join(flow)
        _Fusion(flow).run(joins)

        def line(place: int) -> SourceLine:
            return context.source.line(flow.statements[place].instruction.location)

        joined = tuple(Contraction(line(item.product.place), line(item.place)) for item in joins)
    if any(may_order(step.instruction) for block in blocks for step in block.steps):
        order(Flow(context, blocks, calls, starts))
    return joined


class _Fusion(Edits):
    """Turns the sums of joins into ``fma.rn``.

    A factor whose register is written again before the sum is copied where the product stands. An addition of
    a matrix multiplication leaves it: its accumulator becomes 0, and a fused multiply-add follows.
    """

    def __init__(self, flow: Flow) -> None:
        super().__init__(flow, "%fused")
        self._divided: dict[int, tuple[Operand, Operand]] = {}

    def run(self, joins: Sequence[Join]) -> None:
        for item in joins:
            instruction = self._flow.statements[item.place].instruction
            found = form(instruction, "add", "sub")
            first, second = self._factors(item.product, item.place)
            if found is None:
                if item.negated:
                    first = self._negated(item.place, first, item.product.form.type)
                (self._add if instruction.opcode[0] in ATOMICS else self._accumulate)(item, first, second)
                continue
            addend = instruction.operands[2 - item.operand]
            if found.name == "sub" and item.operand == 0:
                addend = self._negated(item.place, addend, found.type)
            if item.negated != (found.name == "sub" and item.operand == 1):
                first = self._negated(item.place, first, found.type)
            self.replace(item.place, _fma(found), first, second, addend)
        self.apply()

    def _add(self, item: Join, first: Operand, second: Operand) -> None:
        """Give an atomic the factors of what it adds."""
        old = self._flow.statements[item.place].instruction
        name = ".".join((*old.opcode[:-2], FUSED, "f32"))
        self.replace(item.place, name, *old.operands[1:-1], first, second)

    def _accumulate(self, item: Join, first: Operand, second: Operand) -> None:
        """Take an accumulator out of a matrix multiplication."""
        old = self.instead.get(item.place, self._flow.statements[item.place].instruction)
        target, a, b, addends = old.operands
        assert isinstance(target, Vector), target
        assert isinstance(addends, Vector), addends
        product, result = item.product.form, target.elements[item.number]
        elements = list(addends.elements)
        elements[item.number] = immediate(0, product.type, result)
        changed = replace(addends, elements=tuple(elements))
        self.instead[item.place] = replace(old, operands=(target, a, b, changed))
        fma = Instruction.of(_fma(product), old.location, result, first, second, result)
        self.after[item.place].append(fma)

    def _factors(self, product: Product, place: int) -> tuple[Operand, Operand]:
        """The factors of a product, as a later statement must read them."""
        instruction = self._flow.statements[product.place].instruction
        divided = division(instruction)
        operands = instruction.operands[1:]
        if divided is not None:
            if product.place not in self._divided:
                kind, flush = divided
                self._divided[product.place] = factors(self, product.place, kind, operands, flush=flush)
            operands = self._divided[product.place]
        behind = inner_sum(self._flow.statements[place].instruction) is not None
        first, second = (self.kept(product.place, operand, place, behind=behind) for operand in operands)
        return first, second

    def _negated(self, place: int, operand: Operand, type_: str) -> Operand:
        bits = literal(operand, type_)
        if bits is not None:
            return immediate(bits ^ SIGNS[type_], type_, operand)
        return self.before(place, f"neg.{type_}", operand)


def _fma(found: Form) -> str:
    return f"fma.rn{'.ftz' if found.flush else ''}{'.sat' if found.saturate else ''}.{found.type}"
