"""Which instruction reads the result of which, what is dead, and which code is straight."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from golden.ptx.contraction.forms import ends_when_guarded, is_expanded, is_move, literal, scaled_mma
from golden.ptx.liveness import fixed_point, members
from golden.ptx.syntax import Immediate, Instruction, Operand, Register, parts

Value = tuple[int, ...]
"""The definitions that reach a use, as numbers of statements in ascending order."""


@dataclass(slots=True)
class Statement:
    """An instruction, and what it does with registers."""

    instruction: Instruction
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    """Numbers of registers, the guard among those read."""
    guarded: bool = False
    """Whether it may leave what it writes unchanged."""
    pure: bool = True
    """Whether it is dead where nobody needs what it writes."""
    fixed: bool = False
    """Whether it loads a kernel parameter or a constant from an address that is known."""
    segment: int = 0
    """Differs from the statement before where a call begins or ends between them."""
    needs: Mapping[int, tuple[int, ...]] | None = None
    """The registers that each register written depends on, where these are not all of `reads`."""


@dataclass
class Code:
    """A body, cut wherever control may come in or leave."""

    blocks: Sequence[Sequence[Statement]]
    """In the order written."""
    successors: Sequence[tuple[int, ...]]
    goes_on: Sequence[bool]
    """Whether a block leads to its successor in any case."""
    slots: Mapping[str, int]
    """Numbers of registers, by their keys."""


@dataclass
class Flow:
    """Uses and definitions of the registers of a body.

    Statements are numbered in the order written, those that are never reached included.
    """

    code: Code
    statements: list[Statement] = field(init=False)
    values: dict[tuple[int, int], Value] = field(init=False, default_factory=dict)
    """What reaches each use, by statement and register."""
    users: dict[tuple[int, int], list[int]] = field(init=False, default_factory=dict)
    """The live statements that read a definition, by statement and register."""
    live: set[int] = field(init=False, default_factory=set)
    """The statements that are not dead."""
    needed: set[tuple[int, int]] = field(init=False, default_factory=set)
    """The definitions, as statement and register, that are not dead."""
    places: dict[int, tuple[int, int]] = field(init=False, default_factory=dict)
    """The straight block of each statement, and where it is in it."""
    _written: dict[tuple[int, int], list[int]] = field(init=False, default_factory=dict)
    _numbers: dict[tuple[int, int], int] = field(init=False, default_factory=dict)
    """Of the definitions, by statement and register, in the order written."""
    _of_register: dict[int, int] = field(init=False, default_factory=dict)
    """The definitions of each register, as a mask."""

    def __post_init__(self) -> None:
        self.statements = [statement for block in self.code.blocks for statement in block]
        starts = [0]
        for block in self.code.blocks:
            starts.append(starts[-1] + len(block))
        self._starts = starts
        reached = self._reached()
        self._resolve(reached)
        self._mark(reached)
        self._place(reached)

    def slot(self, register: Register) -> int:
        """The number of a register."""
        return self.code.slots[register.key]

    def definition(self, user: int, operand: Operand) -> int | None:
        """The one statement whose result a statement reads in an operand, if it is executed in any case."""
        if not isinstance(operand, Register):
            return None
        found = self.values.get((user, self.slot(operand)), ())
        if len(found) != 1 or self.statements[found[0]].guarded:
            return None
        return found[0]

    def source(self, user: int, operand: Operand) -> tuple[int, Operand]:
        """An operand behind all copies, and the statement in which it stands as an operand."""
        seen: set[int] = set()
        while True:
            found = self.definition(user, operand)
            if found is None or found in seen or not is_move(self.statements[found].instruction):
                return user, operand
            seen.add(found)
            user, operand = found, self.statements[found].instruction.operands[1]

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
        found = self.definition(*self.source(user, operand))
        return found is not None and self.statements[found].fixed

    def same(self, first: tuple[int, Operand], second: tuple[int, Operand]) -> bool:
        """Whether two operands, each of a statement, are one value."""
        (user, operand), (other, another) = self.source(*first), self.source(*second)
        if isinstance(operand, Register) and isinstance(another, Register):
            values = (
                self.values.get((user, self.slot(operand))),
                self.values.get((other, self.slot(another))),
            )
            return operand.key == another.key and values[0] == values[1]
        return isinstance(operand, Immediate) and isinstance(another, Immediate) and (
            operand.value, operand.kind
        ) == (another.value, another.kind)  # fmt: skip

    def is_kept(self, register: Register, first: int, last: int, *, behind: bool = False) -> bool:
        """Whether a register that `first` reads has the same value in `last`, a later statement.

        With `behind`, also after it. False where that is not obvious.
        """
        block, start = self.places[first]
        other, end = self.places[last]
        places = self._written.get((block, self.slot(register)), ())
        return block == other and not any(start <= place < end + behind for place in places)

    def _reached(self) -> list[int]:
        """The blocks that control may reach, in order."""
        found, waiting = {0}, [0]
        while waiting:
            for target in self.code.successors[waiting.pop()]:
                if target not in found:
                    found.add(target)
                    waiting.append(target)
        return sorted(found)

    def _resolve(self, reached: list[int]) -> None:
        """Find the definitions that reach each use; sets of definitions are integers with a bit for each."""
        numbers, of_register = self._numbers, self._of_register
        for block in reached:
            for place in range(self._starts[block], self._starts[block + 1]):
                for register in self.statements[place].writes:
                    numbers[place, register] = len(numbers)
                    of_register[register] = of_register.get(register, 0) | 1 << numbers[place, register]
        order = [place for place, _ in numbers]
        ends = {block: self._ends(block) for block in reached}
        preceding: list[list[int]] = [[] for _ in self.code.blocks]
        for block in reached:
            for target in self.code.successors[block]:
                preceding[target].append(block)

        def after(block: int, incoming: int) -> int:
            made, kept = ends[block]
            return made | incoming & kept

        before, _ = fixed_point(preceding, reversed(reached), after)
        for block in reached:
            self._read(block, before[block], order)

    def _ends(self, block: int) -> tuple[int, int]:
        """The definitions of a block that leave it, and a mask of those from before that do."""
        made, lost = 0, 0
        for place in range(self._starts[block], self._starts[block + 1]):
            statement = self.statements[place]
            for register in statement.writes:
                if not statement.guarded:
                    made &= ~self._of_register[register]
                    lost |= self._of_register[register]
                made |= 1 << self._numbers[place, register]
        return made, ~lost

    def _read(self, block: int, incoming: int, order: Sequence[int]) -> None:
        """Note the definitions that reach the uses of a block, given those that enter it."""
        current: dict[int, Value] = {}

        def value(register: int) -> Value:
            if register not in current:
                found = members(incoming & self._of_register.get(register, 0))
                current[register] = tuple(order[number] for number in found)
            return current[register]

        for place in range(self._starts[block], self._starts[block + 1]):
            statement = self.statements[place]
            for register in statement.reads:
                self.values[place, register] = value(register)
            for register in statement.writes:
                current[register] = (*value(register), place) if statement.guarded else (place,)

    def _mark(self, reached: list[int]) -> None:
        """Find what is not dead, from stores, branches and the like back to what they depend on."""
        waiting: list[tuple[int, tuple[int, ...]]] = []
        for block in reached:
            for place in range(self._starts[block], self._starts[block + 1]):
                if not self.statements[place].pure:
                    self.live.add(place)
                    waiting.append((place, self.statements[place].reads))
        seen: set[tuple[int, int]] = set()
        while waiting:
            user, registers = waiting.pop()
            for register in registers:
                if (user, register) in seen:
                    continue
                seen.add((user, register))
                for place in self.values[user, register]:
                    self.users.setdefault((place, register), []).append(user)
                    if (place, register) in self.needed:
                        continue
                    self.needed.add((place, register))
                    self.live.add(place)
                    statement = self.statements[place]
                    needs = statement.reads if statement.needs is None else statement.needs[register]
                    waiting.append((place, needs))

    def _place(self, reached: list[int]) -> None:
        """Number the straight blocks."""
        ways_in: dict[int, int] = {0: 1}
        for block in reached:
            for target in self.code.successors[block]:
                ways_in[target] = ways_in.get(target, 0) + 1
        following = {
            block: self.code.successors[block][0]
            for block in reached
            if self.code.goes_on[block]
            and len(self.code.successors[block]) == 1
            and ways_in[self.code.successors[block][0]] == 1
        }
        straight = 0
        for head in sorted(set(reached) - set(following.values())):
            straight += 1
            segment, count = None, 0
            chain: int | None = head
            while chain is not None:
                for place in range(self._starts[chain], self._starts[chain + 1]):
                    statement = self.statements[place]
                    ends = self._ends_block(place)
                    straight += ends or statement.segment != segment
                    segment = statement.segment
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
        return statement.guarded and place in self.live and ends_when_guarded(statement.instruction)


def addends(
    instruction: Instruction, registers: Callable[[Iterable[Operand]], tuple[int, ...]]
) -> Mapping[int, tuple[int, ...]] | None:
    """`Statement.needs` of a multiplication of fp8, whose results depend on one element of C each.

    `registers` gives the numbers of the registers in some operands. None for other instructions.
    """
    if scaled_mma(instruction) is None:
        return None
    target, a, b, added, *_ = instruction.operands
    return {
        number: registers((a, b, addend))
        for result, addend in zip(parts(target), parts(added), strict=True)
        for number in registers((result,))
    }
