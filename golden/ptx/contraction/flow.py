"""Which instruction reads the result of which, what is dead, which code is straight; changes of a body."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from golden.ptx.blocks import Block
from golden.ptx.contraction.forms import ATOMICS, GUARDED_ENDS, inner_sum, is_expanded, is_move, literal
from golden.ptx.decoding import Context, Statement, Step
from golden.ptx.liveness import fixed_point, members, successors
from golden.ptx.scalar_types import TYPES
from golden.ptx.syntax import Address, Immediate, Instruction, Operand, Register, parts
from golden.tables.matrix_instructions import MmaInstruction

Value = tuple[int, ...]
"""The definitions that reach a use, as numbers of statements in ascending order."""


class Flow:
    """Uses and definitions of the registers of a body.

    Statements are numbered in the order written, those that are never reached included; each terminator is
    the last statement of its block. Before each of the instructions `calls`, in ascending order, a call
    begins or ends; `starts` are the first blocks of the kernel and of the functions that it calls.
    """

    def __init__(
        self, context: Context, blocks: Sequence[Block], calls: Sequence[int], starts: Sequence[int]
    ) -> None:
        self.context = context
        self.blocks = blocks
        self.statements: list[Statement] = []
        self.values: dict[tuple[int, int], Value] = {}
        """What reaches each use, by statement and register."""
        self.users: dict[tuple[int, int], list[int]] = {}
        """The live statements that read a definition, by statement and register."""
        self.live: set[int] = set()
        """The statements that are not dead."""
        self.needed: set[tuple[int, int]] = set()
        """The definitions, as statement and register, that are not dead."""
        self.places: dict[int, tuple[int, int]] = {}
        """The straight block of each statement, and where it is in it."""
        self._written: dict[tuple[int, int], list[int]] = {}
        self._calls = calls
        self._starts = starts
        self._successors = [successors(blocks, number) for number in range(len(blocks))]
        reached = self._reached()
        self._inside: dict[int, range] = {}
        """The statements of each block that is reached."""
        for number, block in enumerate(blocks):
            first = len(self.statements)
            self.statements += block.steps if block.terminator is None else [*block.steps, block.terminator]
            if number in reached:
                self._inside[number] = range(first, len(self.statements))
        self._resolve()
        self._mark()
        self._place()

    def slot(self, register: Register) -> int:
        """The number of a register."""
        return self.context.slots[register.key]

    def definition(self, user: int, operand: Operand) -> int | None:
        """The one statement whose result a statement reads in an operand, if it is executed in any case."""
        if not isinstance(operand, Register):
            return None
        found = self.values.get((user, self.slot(operand)), ())
        if len(found) != 1 or self.statements[found[0]].guard is not None:
            return None
        return found[0]

    def source(
        self, user: int, operand: Operand, passes: Callable[[Instruction], bool] = is_move
    ) -> tuple[int, Operand]:
        """An operand behind all copies, or what else passes, and the statement in which it is an operand."""
        seen: set[int] = set()
        while True:
            found = self.definition(user, operand)
            if found is None or found in seen or not passes(self.statements[found].instruction):
                return user, operand
            seen.add(found)
            user, operand = found, self.statements[found].instruction.operands[1]

    def origin(self, user: int, operand: Operand) -> int | None:
        """The one statement whose result an operand is, copies left out."""
        return self.definition(*self.source(user, operand))

    def constant(self, user: int, operand: Operand, type_: str) -> int | None:
        """The bits of an operand that is a literal, or a register with one."""
        user, operand = self.source(user, operand)
        found = self.definition(user, operand)
        if found is not None:
            moved = self.statements[found].instruction
            if moved.opcode[0] == "mov" and isinstance(moved.operands[1], Immediate):
                operand = moved.operands[1]
        return literal(operand, type_)

    def is_fixed(self, user: int, operand: Operand, type_: str) -> bool:
        """Whether an operand is a literal, a parameter of the kernel or a constant in memory."""
        if self.constant(user, operand, type_) is not None:
            return True
        found = self.origin(user, operand)
        if found is None or self.statements[found].instruction.opcode[0] != "ld":
            return False
        address = self.statements[found].instruction.operands[1]
        return isinstance(address, Address) and self.context.space_of(address) in ("entry", "const")

    def same(self, first: tuple[int, Operand], second: tuple[int, Operand]) -> bool:
        """Whether two operands, each of a statement, are one value."""
        (user, operand), (other, another) = self.source(*first), self.source(*second)
        if isinstance(operand, Register) and isinstance(another, Register):
            slot, values = self.slot(operand), self.values
            return operand.key == another.key and values.get((user, slot)) == values.get((other, slot))
        if isinstance(operand, Immediate) and isinstance(another, Immediate):
            return (operand.value, operand.kind) == (another.value, another.kind)
        return False

    def is_kept(self, register: Register, first: int, last: int, *, behind: bool = False) -> bool:
        """Whether a register that `first` reads has the same value in `last`, a later statement.

        With `behind`, also after it. False where that is not obvious.
        """
        block, start = self.places[first]
        other, end = self.places[last]
        places = self._written.get((block, self.slot(register)), ())
        return block == other and not any(start <= place < end + behind for place in places)

    def _reached(self) -> set[int]:
        """The blocks that control may reach."""
        found, waiting = set(self._starts), list(self._starts)
        while waiting:
            for target in self._successors[waiting.pop()]:
                if target not in found:
                    found.add(target)
                    waiting.append(target)
        return found

    def _resolve(self) -> None:
        """Find the definitions that reach each use; sets of definitions are integers with a bit for each."""
        order: list[int] = []
        of_register: dict[int, int] = {}
        ends: dict[int, tuple[int, int]] = {}
        for places in self._inside.values():
            for place in places:
                for register in self.statements[place].writes:
                    of_register[register] = of_register.get(register, 0) | 1 << len(order)
                    order.append(place)
        numbers = iter(range(len(order)))
        for block, places in self._inside.items():
            made, lost = 0, 0
            for place in places:
                for register in self.statements[place].writes:
                    if self.statements[place].guard is None:
                        made &= ~of_register[register]
                        lost |= of_register[register]
                    made |= 1 << next(numbers)
            ends[block] = made, ~lost
        preceding: list[list[int]] = [[] for _ in self.blocks]
        for block in self._inside:
            for target in self._successors[block]:
                preceding[target].append(block)

        def after(block: int, incoming: int) -> int:
            made, kept = ends[block]
            return made | incoming & kept

        before, _ = fixed_point(preceding, reversed(self._inside), after)
        for block, places in self._inside.items():
            current: dict[int, Value] = {}
            for place in places:
                statement = self.statements[place]
                kept = statement.writes if statement.guard is not None else ()
                for register in (*statement.reads, *kept):
                    if register not in current:
                        found = members(before[block] & of_register.get(register, 0))
                        current[register] = tuple(order[number] for number in found)
                for register in statement.reads:
                    self.values[place, register] = current[register]
                for register in statement.writes:
                    current[register] = (place,) if statement.guard is None else (*current[register], place)

    def _mark(self) -> None:
        """Find what is not dead, from stores, branches and the like back to what they depend on."""
        waiting: list[tuple[int, tuple[int, ...]]] = []
        for places in self._inside.values():
            for place in places:
                statement = self.statements[place]
                pure = isinstance(statement, Step) and (
                    statement.pure or isinstance(statement.matrix, MmaInstruction)
                )
                if not pure:
                    self.live.add(place)
                    waiting.append((place, statement.reads))
        seen: set[tuple[int, int]] = set()
        while waiting:
            user, registers = waiting.pop()
            for register in registers:
                if (user, register) in seen:
                    continue
                seen.add((user, register))
                for place in self.values[user, register]:
                    self.users.setdefault((place, register), []).append(user)
                    if (place, register) not in self.needed:
                        self.needed.add((place, register))
                        self.live.add(place)
                        waiting.append((place, self._needs(place, register)))

    def _needs(self, place: int, register: int) -> tuple[int, ...]:
        """What a register that a statement writes depends on.

        This is all that the statement reads, except for a multiplication of fp8: each of its results depends
        on one element of C.
        """
        statement = self.statements[place]
        if inner_sum(statement.instruction) is None or statement.instruction.opcode[0] in ATOMICS:
            return statement.reads
        target, a, b, added, *_ = statement.instruction.operands
        addends = [
            addend
            for result, addend in zip(parts(target), parts(added), strict=True)
            if isinstance(result, Register) and self.slot(result) == register
        ]
        return self.context.registers((a, b, addends[-1]))

    def _place(self) -> None:
        """Number the straight blocks."""
        ways_in = dict.fromkeys(self._starts, 1)
        for block in self._inside:
            for target in self._successors[block]:
                ways_in[target] = ways_in.get(target, 0) + 1
        following = {}
        for block in self._inside:
            end, targets = self.blocks[block].terminator, self._successors[block]
            goes_on = end is None or (end.kind != "indexed" and end.guard is None)
            if goes_on and len(targets) == 1 and ways_in[targets[0]] == 1:
                following[block] = targets[0]
        straight = 0
        for head in sorted(set(self._inside) - set(following.values())):
            straight += 1
            segment, count = None, 0
            chain: int | None = head
            while chain is not None:
                for place in self._inside[chain]:
                    statement = self.statements[place]
                    ends, calls = self._ends_block(place), bisect_right(self._calls, statement.index)
                    straight += ends or calls != segment
                    segment = calls
                    self.places[place] = straight, count
                    for register in statement.writes:
                        self._written.setdefault((straight, register), []).append(count)
                    count += 1
                    straight += ends
                chain = following.get(chain)

    def _ends_block(self, place: int) -> bool:
        statement = self.statements[place]
        if is_expanded(statement.instruction):
            return True
        guarded = statement.guard is not None and place in self.live
        return guarded and statement.instruction.opcode[0] in GUARDED_ENDS


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
                if new is not None and step.whole:
                    # The guard of an instruction of a whole warp has become a branch around it.
                    new = replace(new, guard=None)
                steps += [decode(item, step.index) for item in self._before[number]]
                steps.append(step if new is None else decode(new, step.index))
                steps += [decode(item, step.index) for item in self.after[number]]
                number += 1
            block.steps = steps
            number += block.terminator is not None
