"""Basic blocks: what runs without a branch, and where it goes on."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from golden.ptx.decoding import Context, Statement, Step, split_qualifiers
from golden.ptx.source import Location
from golden.ptx.syntax import Body, Immediate, Instruction, Negated, Operand, Register, Symbol

EXIT: Final = -1
"""The number of the block behind the end of the kernel."""

CALL: Final = "call body"
RETURN: Final = "return from body"
"""What `golden.simt.inlining` makes of the calls and the ends of functions that are not copied."""

_ENDS: Final[Mapping[str, tuple[str, tuple[int, ...]]]] = {
    **dict.fromkeys(("ret", "exit"), ("branch", (EXIT,))),
    **dict.fromkeys(("trap", "brkpt"), ("trap", ())),
    RETURN: ("return", ()),
}
"""Instructions without operands, with kind and targets of what they end a block with."""
_UNIFORM: Final = ("bra", "ret")
"""Instructions that may have ``.uni``."""


@dataclass(frozen=True, kw_only=True)
class Terminator(Statement):
    """A statement that ends a block; only a branch has a guard."""

    kind: str
    """``branch``, ``indexed``, ``barrier``, ``collective``, ``call``, ``return`` or ``trap``.

    A branch without a guard is a jump; an exit is a branch to `EXIT`. A call goes on at the next block when
    its function returns.
    """
    targets: tuple[Any, ...] = ()
    """Labels, which become numbers of blocks; `EXIT` as it is."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Operands of a barrier, of which a result is among `writes`.

    Of a collective, the operands ``mask`` and ``sources``, the latter with their bits, the registers
    ``targets``, None for a result that is not kept, and ``compute``: from threads, their masks and sources to
    the results.
    """


@dataclass
class Block:
    """A basic block."""

    first: int
    """Number of its first instruction, or of the one behind it if it has none."""
    steps: list[Step] = field(default_factory=list)
    terminator: Terminator | None = None
    """None where the next block follows."""
    whole: int = 0
    """How many threads must enter it together, as of a `Step`."""
    live_in: tuple[int, ...] = ()
    live_out: frozenset[int] = frozenset()

    @property
    def size(self) -> int:
        """Instructions in it."""
        return len(self.steps) + (self.terminator is not None)


def build_blocks(context: Context, body: Body) -> list[Block]:
    """Decode the instructions of a kernel, without calls, and cut them into blocks.

    A guarded instruction that the lanes of a warp must execute together becomes a branch around it.
    """
    return _Builder(context, body).build()


class _Builder:
    def __init__(self, context: Context, body: Body) -> None:
        self._context = context
        self._body = body
        self._blocks: list[Block] = [Block(0)]
        self._starts: dict[int, int] = {}

    def build(self) -> list[Block]:
        leaders = set(self._body.labels.values())
        instructions = self._body.instructions
        for index, instruction in enumerate(instructions):
            if index in leaders and (self._blocks[-1].size or self._blocks[-1].whole):
                self._blocks.append(Block(index))
            self._starts.setdefault(index, len(self._blocks) - 1)
            self._add(index, instruction)
        end = len(instructions)
        if self._blocks[-1].size:
            self._blocks.append(Block(end))
        self._starts.setdefault(end, len(self._blocks) - 1)
        location = instructions[-1].location if instructions else Location(1, 1)
        last = partial(Terminator, instruction=Instruction.of("exit", location), index=max(0, end - 1))
        self._blocks[-1].terminator = last(kind="branch", targets=(EXIT,))
        for block in self._blocks:
            if (found := block.terminator) is not None:
                block.terminator = replace(found, targets=tuple(map(self._number, found.targets)))
        return self._blocks

    def _number(self, target: Any) -> int:
        if isinstance(target, Symbol):
            if target.key not in self._body.labels:
                raise self._context.error(target, f"{target.name} is not a label")
            return self._starts[self._body.labels[target.key]]
        return int(target)

    def _add(self, index: int, instruction: Instruction) -> None:
        self._context.check(instruction)
        terminator = self._terminator(index, instruction)
        if terminator is not None:
            self._end(terminator)
            return
        step = self._context.decode(instruction, index)
        if step.collective is not None:
            end = partial(Terminator, kind="collective", instruction=instruction, index=index)
            self._end(end(reads=step.reads, writes=step.writes, details=step.collective))
            return
        if not step.whole:
            self._blocks[-1].steps.append(step)
            return
        with self._around(index, instruction):  # in a block that the lanes enter together
            if self._blocks[-1].size and self._blocks[-1].whole < step.whole:
                self._blocks.append(Block(index))
            self._blocks[-1].whole = max(self._blocks[-1].whole, step.whole)
            self._blocks[-1].steps.append(step)
            if instruction.guard is not None:
                self._blocks.append(Block(index + 1))

    @contextmanager
    def _around(self, index: int, instruction: Instruction) -> Iterator[None]:
        """Put a branch around what is added meanwhile, if the instruction has a guard."""
        guard, block = instruction.guard, self._blocks[-1]
        if guard is None:
            yield
            return
        slot = self._context.slot(guard.register)
        self._blocks.append(Block(index))
        yield
        block.terminator = Terminator(
            kind="branch",
            instruction=instruction,
            index=index,
            guard=(slot, not guard.negated),
            targets=(len(self._blocks) - 1,),
            reads=(slot,),
        )

    def _end(self, terminator: Terminator) -> None:
        instruction, index = terminator.instruction, terminator.index
        if terminator.kind == "branch" and instruction.guard is not None:
            slot = self._context.slot(instruction.guard.register)
            terminator = replace(terminator, guard=(slot, instruction.guard.negated), reads=(slot,))
            instruction = replace(instruction, guard=None)
        with self._around(index, instruction):
            self._blocks[-1].terminator = terminator
            self._blocks.append(Block(index + 1))

    def _terminator(self, index: int, instruction: Instruction) -> Terminator | None:
        context = self._context
        end = partial(Terminator, instruction=instruction, index=index)
        name = instruction.opcode[0]
        words = instruction.opcode[1:]
        if (name in _ENDS or name == "bra") and words not in ((), ("uni",))[: 1 + (name in _UNIFORM)]:
            raise context.unsupported(instruction, f"qualifier .{words[0]}")
        if name in _ENDS:
            context.operands(instruction, 0)
            return end(kind=_ENDS[name][0], targets=_ENDS[name][1])
        if name == "bra":
            (target,) = context.operands(instruction, 1)
            if not isinstance(target, Symbol):
                raise context.error(instruction, "bra needs a label")
            return end(kind="branch", targets=(target,))
        if name == "brx":
            choice, labels = context.operands(instruction, 2)
            if words[:1] != ("idx",) or not isinstance(labels, Symbol):
                raise context.unsupported(instruction)
            if labels.key not in self._body.targets:
                raise context.error(labels, f"{labels.name} is not a list of branch targets")
            context.require_source(choice, 32)
            reads, targets = context.registers((choice,)), self._body.targets[labels.key]
            return end(kind="indexed", targets=targets, reads=reads, details={"choice": choice})
        if name == CALL:
            return self._call(instruction, end)
        if name not in ("bar", "barrier"):
            return None
        if name == "barrier" and words[:1] == ("cluster",):
            if "wait" not in words:
                return None
            groups = {"name": ("cluster",), "mode": ("wait",), "order": ("acquire",), "all": ("aligned",)}
            split_qualifiers(context, instruction, groups)
            context.operands(instruction, 0)
            details = {"mode": "cluster", **dict.fromkeys(("barrier", "count", "value"))}
            return end(kind="barrier", details=details)
        if name == "bar" and "aligned" in words:
            raise context.unsupported(instruction, "bar is .aligned without the qualifier")
        parts = [part for part in words if part not in ("cta", "aligned")]
        if name == "barrier" or words != ("warp", "sync"):
            return end(kind="barrier", **self._barrier(instruction, parts))
        (mask,) = context.operands(instruction, 1)
        details = collective_details(context, mask)
        return end(kind="collective", reads=context.registers((mask,)), details=details)

    def _call(self, instruction: Instruction, end: Callable[..., Terminator]) -> Terminator:
        """A call of one of some functions that have bodies of their own: the one whose address is given."""
        callee, *functions = instruction.operands
        addresses = {
            self._context.symbol(name)[1]: name.name for name in functions if isinstance(name, Symbol)
        }
        return end(
            kind="call",
            targets=tuple(Symbol(name, f"{name}:entry", instruction.location) for name in addresses.values()),
            reads=self._context.registers((callee,)),
            details={"callee": callee if isinstance(callee, Register) else None, "functions": addresses},
        )

    def _barrier(self, instruction: Instruction, parts: list[str]) -> dict[str, Any]:
        """What a barrier of a block reads and writes, and its details; `parts` are its qualifiers."""
        context, operands = self._context, instruction.operands
        mode = parts[0] if parts else ""
        operation = target = value = None
        sources = list(operands)
        if mode == "red":
            groups = {"scope": ("cta",), "red": ("red",), "operation": ("popc", "and", "or")}
            found = split_qualifiers(context, instruction, {**groups, "type": ("u32", "pred")}, ("aligned",))
            operation = found.get("operation")
            expected = "u32" if operation == "popc" else "pred"
            if operation is None or found.get("type") != expected or len(operands) not in (3, 4):
                raise context.unsupported(instruction)
            target, *sources, value = operands
            context.require_destination(target, 32 if expected == "u32" else 1)
            context.require_source(value, 1)
        elif mode not in ("sync", "arrive") or len(parts) != 1:
            raise context.unsupported(instruction)
        least = 2 if mode == "arrive" else 1
        if not least <= len(sources) <= 2:
            raise context.error(instruction, f"{instruction.name} does not take {len(operands)} operands")
        for source in sources:
            context.require_source(source, 32)
        reads = context.registers(sources if value is None else (*sources, value))
        writes = context.registers(() if target is None else (target,))
        barrier, count = (*sources, None)[:2]
        details = {"mode": mode, "operation": operation, "value": value, "barrier": barrier, "count": count}
        return {"reads": reads, "writes": writes, "details": details}


def collective_details(
    context: Context,
    mask: Operand,
    sources: Sequence[tuple[Operand, int]] = (),
    targets: Sequence[tuple[Operand, int]] = (),
    compute: Callable[..., Any] | None = None,
    kinds: tuple[str, str] = ("integer", "integer"),
) -> dict[str, Any]:
    """The details of a collective; `kinds` are the types of its results and of its sources, of any width.

    PtxError for an operand of another type and for no lanes.
    """
    for operand, bits in targets:
        context.require_destination(operand, bits, kinds[0])
    for operand, bits in sources:
        context.require_source(operand, bits, kinds[1])
    context.require_source(mask, 32)
    if isinstance(mask, Negated):
        raise context.error(mask, "the mask of lanes must be a 32-bit register or constant")
    if isinstance(mask, Immediate) and mask.value & 0xFFFFFFFF == 0:
        raise context.error(mask, "the mask of lanes is empty")
    slots = [context.slot(target) if isinstance(target, Register) else None for target, _ in targets]
    return {"mask": mask, "sources": sources, "targets": slots, "compute": compute}
