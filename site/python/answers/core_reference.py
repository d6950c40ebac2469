"""What a program leaves in registers and memory, by `golden.explain` and the layouts, without numpy.

`golden.machine` does the same on arrays; `tests/site/test_site_core.py` compares them.
"""

from functools import cache

from golden.explanation.explain import explain
from golden.tables.commands import Command, Fill, Load, Mma, Move, Store
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import Shape, Use
from golden.tables.layouts import LANES, fragment

Position = tuple[int, int]


class Reference:
    """Executes commands one after the other.

    Parameters
    ----------
    base : int
        Address of the first byte of memory.
    memory : bytearray
        Changed by stores.
    registers : int
        32-bit registers of each lane, zero at first.

    Attributes
    ----------
    memory : bytearray
    registers : list of list of int
        By register and lane.
    """

    def __init__(self, base: int, memory: bytearray, registers: int) -> None:
        self._base = base
        self.memory = memory
        self.registers = [[0] * LANES for _ in range(registers)]

    def execute(self, command: Command) -> None:
        """Execute a command that the core has executed without a fault.

        Raises
        ------
        ValueError
            For a command that needs on-chip memory.
        """
        match command:
            case Load():
                self._load(command)
            case Store():
                self._store(command)
            case Mma():
                self._multiply(command)
            case Fill(register, count, value):
                for index in range(register, register + count):
                    self.registers[index] = [value] * LANES
            case Move(destination, source, count):
                # One after the other, as `Move` says: an overlapping move sees what it has written.
                for index in range(count):
                    self.registers[destination + index] = list(self.registers[source + index])
            case _:
                raise ValueError(f"{command} needs on-chip memory, which this core does not have")

    def _address(self, command: Load | Store, position: Position) -> int:
        form = command.instruction
        stride = command.stride
        if stride is None:
            stride = form.shape.default_stride(form.use, form.layout)
        row, column = position
        index = row * stride + column if form.layout == "row" else column * stride + row
        return command.address - self._base + index * (FORMATS[form.type].bits // 8)

    def _load(self, command: Load) -> None:
        form = command.instruction
        size = FORMATS[form.type].bits // 8
        positions = _positions(form.use, form.type, form.shape)
        matrix = {}
        for position in set(positions.values()):
            first = self._address(command, position)
            matrix[position] = int.from_bytes(self.memory[first : first + size], "little")
        self._distribute(form.use, form.type, form.shape, command.register, matrix)

    def _store(self, command: Store) -> None:
        form = command.instruction
        size = FORMATS[form.type].bits // 8
        for position, bits in self._collect("d", form.type, form.shape, command.register).items():
            first = self._address(command, position)
            self.memory[first : first + size] = bits.to_bytes(size, "little")

    def _multiply(self, command: Mma) -> None:
        form = command.instruction
        shape = form.shape
        a = self._collect("a", form.a_type, shape, command.a)
        b = self._collect("b", form.b_type, shape, command.b)
        c = self._collect("c", form.c_type, shape, command.c)
        d = {}
        for (row, column), addend in c.items():
            a_row = [a[row, k] for k in range(shape.k)]
            b_column = [b[k, column] for k in range(shape.k)]
            d[row, column] = explain(form, a_row, b_column, addend).result
        self._distribute("d", form.d_type, shape, command.d, d)

    def _collect(self, use: Use, type: str, shape: Shape, register: int) -> dict[Position, int]:
        """The raw elements of a fragment by row and column."""
        bits = FORMATS[type].bits
        found = {}
        for (lane, element), position in _positions(use, type, shape).items():
            word, place = divmod(element * bits, 32)
            found[position] = self.registers[register + word][lane] >> place & (1 << bits) - 1
        return found

    def _distribute(
        self, use: Use, type: str, shape: Shape, register: int, matrix: dict[Position, int]
    ) -> None:
        bits = FORMATS[type].bits
        for index in range(fragment(use, type, shape).registers):
            self.registers[register + index] = [0] * LANES
        for (lane, element), position in _positions(use, type, shape).items():
            word, place = divmod(element * bits, 32)
            self.registers[register + word][lane] |= matrix[position] << place


@cache
def _positions(use: Use, type: str, shape: Shape) -> dict[tuple[int, int], Position]:
    """Row and column of each (lane, element) of a fragment."""
    lanes = enumerate(fragment(use, type, shape).positions)
    return {(lane, element): place for lane, places in lanes for element, place in enumerate(places)}
