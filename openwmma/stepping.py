"""A launch instruction by instruction: registers and fragments of one warp, in the terminal."""

import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arguments import VALUES
from golden.arithmetic.arrays import convert
from golden.fragments import collect
from golden.integers import quoted, shortened
from golden.invalid_argument import InvalidArgument
from golden.ptx.decoding import Statement
from golden.ptx.syntax import Address, Register, parts
from golden.simt.block import BlockRun
from golden.tables.formats import FORMATS, FloatFormat, float_format
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import MmaInstruction
from openwmma.terminal import tell

_HELP: Final = """\
n or Enter   next instruction of the warp        l LINE  go on to a line of the program
c            go on to the end                    q       stop, write nothing
b X,Y,Z      another block of the grid           w N     another warp of the block
t N          another lane                        p [REGISTER]  registers of the lane, or one in all lanes
m            fragments of the last matrix instruction"""


class Stopped(Exception):
    """The user has ended a launch."""


class Stepper:
    """Stops after each instruction of a warp; `on_step` of `openwmma.modules.Kernel.launch`.

    `read` asks for a command, given a prompt; EOFError for none. It is None for the terminal, and where there
    is no terminal, to print every instruction without asking.
    """

    def __init__(self, read: Callable[[str], str] | None = None) -> None:
        if read is None and sys.stdin.isatty() and sys.stdout.isatty():
            import readline  # noqa: F401, PLC0415  history and editing of the line

            read = input
        self._read = read
        self._block, self._warp, self._lane = (0, 0, 0), 0, 0
        self._line: int | None = None
        self._sought = ""
        """The place that the launch goes on to."""
        self._runs = False
        self._registers: dict[str, Register] = {}
        self._values: dict[str, NDArray[Any]] = {}
        self._matrix: Any = None
        self._awaited: Sequence[int] = ()
        """Registers that a barrier or a collective writes once its threads have met."""

    def __call__(
        self,
        run: BlockRun,
        statement: Statement,
        threads: NDArray[np.int64],
        slots: Sequence[int],
        values: Sequence[Any],
    ) -> None:
        """Keep what an instruction has written, and stop after it; see `golden.simt.grid.LaunchOptions`."""
        if self._runs or run.geometry.index != self._block:
            return
        instruction = statement.instruction
        found = [item for operand in instruction.operands for item in parts(operand)]
        self._registers |= {item.key: item for item in found if isinstance(item, Register)}
        names = {slot: key for key, slot in run.kernel.slots.items()}
        for slot, value in zip(slots, map(np.asarray, values), strict=True):
            self._values.setdefault(names[slot], np.zeros(run.total, value.dtype))[threads] = value
        lanes = threads[threads >> 5 == self._warp] & 31
        if not len(lanes):
            return
        for slot in self._awaited:
            self._values[names[slot]] = run.registers[slot].copy()
            if self._line is None:
                self._register(names[slot], self._lane)
        self._awaited = () if slots else statement.writes
        line = run.kernel.source_line(statement.index)
        if self._line not in (None, line.line):
            return
        self._line, self._sought = None, ""
        tell(f"block {','.join(map(str, self._block))} warp {self._warp}, {len(lanes)} lanes: {line}")
        matrix = getattr(statement, "matrix", None)
        if matrix is not None:
            self._matrix = matrix, instruction.operands
            self._fragments(["d"] if isinstance(matrix, MmaInstruction) else [matrix.use])
        else:
            for slot in slots:
                self._register(names[slot], self._lane)
        while self._read is not None and not self._command(run):
            pass

    def tell_missed(self) -> None:
        """Say that the launch ended before it reached the place that was asked for."""
        if self._sought:
            tell(f"{self._sought}: the launch ended before an instruction there")

    def _command(self, run: BlockRun) -> bool:
        """Do what is asked for; whether the launch goes on."""
        assert self._read is not None
        try:
            text = self._read("step> ").strip()
        except EOFError:
            text = "q"
        word, _, rest = text.partition(" ")
        if text in ("", "n"):
            return True
        if text == "c":
            self._runs = True
            return True
        if text == "q":
            raise Stopped
        if word in ("b", "w", "t", "l"):
            return self._move(run, word, rest.strip())
        if word == "p":
            self._print(rest.strip())
        elif text == "h":
            tell(_HELP, lines=True)
        elif text != "m":
            tell(f"{quoted(text)}: expected one of n, c, q, b, w, t, l, p, m, or h for help")
        elif self._matrix is None:
            tell("m: no matrix instruction has been executed here")
        else:
            self._fragments("abcd" if isinstance(self._matrix[0], MmaInstruction) else [self._matrix[0].use])
        return False

    def _move(self, run: BlockRun, word: str, text: str) -> bool:
        """Take another block, warp, lane or line; whether the launch goes on to it."""
        numbers = [int(item) if re.fullmatch(" *[0-9]{1,9} *", item) else -1 for item in text.split(",")]
        number = numbers[0] if len(numbers) == 1 else -1
        if word == "b":
            grid = run.launch.grid
            x, y, z = (*numbers, 0, 0)[:3]
            places = zip((x, y, z), grid, strict=True)
            is_there = len(numbers) <= len(grid) and all(n in range(end) for n, end in places)
            last = ",".join(str(end - 1) for end in grid)
            sought, rule = f"block {text}", f"the grid has blocks 0,0,0 to {last}"
        elif word == "l":
            lines, sought = run.kernel.lines, f"line {text}"
            is_there = number in lines
            rule = f"no instruction begins there, only on lines {min(lines)} to {max(lines)}"
        else:
            what, whole = ("warp", "block") if word == "w" else ("lane", "warp")
            end = run.warps if word == "w" else min(LANES, run.total - LANES * self._warp)
            is_there, sought = 0 <= number < end, f"{what} {text}"
            rule = f"the {whole} has {what}s 0 to {end - 1}"
        if not is_there:
            tell(f"{shortened(sought)}: {rule}")
        elif word == "t":
            self._lane = number
        elif word == "b":
            self._block, self._values, self._matrix, self._awaited = (x, y, z), {}, None, ()
        elif word == "w":
            self._warp, self._lane = number, min(self._lane, run.total - LANES * number - 1)
        else:
            self._line = number
        if not is_there or word == "t":
            return False
        self._sought = sought
        return True

    def _print(self, name: str) -> None:
        """All registers in the lane, or one in all lanes."""
        if not name:
            for key in self._values:
                self._register(key, self._lane)
            return
        keys = [key for key in self._values if self._name(key) in (name, f"%{name}")]
        for key in keys:
            for lane in range(min(LANES, len(self._values[key]) - LANES * self._warp)):
                self._register(key, lane)
        if not keys:
            tell(f"{name} has not been written")

    def _name(self, key: str) -> str:
        return self._registers[key].name if key in self._registers else key

    def _register(self, key: str, lane: int) -> None:
        thread = LANES * self._warp + lane
        values = self._values[key]
        if thread >= len(values):
            return
        bits = int(values[thread])
        text = f"{bits:#x}" if values.dtype != np.bool_ else str(bool(bits)).lower()
        type_ = self._registers[key].type if key in self._registers else None
        if type_ is not None and type_.kind == "float" and type_.name in FORMATS:
            text += f" = {_floats(values[thread : thread + 1], type_.name)[0]:g}"
        elif values.dtype != np.bool_:
            text += f" = {bits}"
        tell(f"  lane {lane:2}  {self._name(key)} = {text}")

    def _fragments(self, uses: Sequence[str]) -> None:
        """The matrices that the warp's registers hold."""
        instruction, operands = self._matrix
        whole = [operand for operand in operands if not isinstance(operand, Address)]
        of_use = dict(zip("dabc", whole, strict=False))
        for use in uses:
            operand = of_use[use] if isinstance(instruction, MmaInstruction) else whole[0]
            is_product = isinstance(instruction, MmaInstruction)
            type_ = instruction.types[use] if is_product else instruction.type
            words = self._words([item for item in parts(operand) if isinstance(item, Register)])
            try:
                matrix = collect(words, use, type_, instruction.shape)  # type: ignore[arg-type]
            except InvalidArgument:  # a constant among the registers
                continue
            numbers = _floats(matrix, type_) if isinstance(FORMATS[type_], FloatFormat) else matrix
            cells = [[f"{number:.5g}" for number in row] for row in numbers.tolist()]
            width = max(len(cell) for row in cells for cell in row)
            rows = "\n".join("  " + " ".join(cell.rjust(width) for cell in row) for row in cells)
            tell(f"  {use.upper()} {type_} {instruction.shape}:\n{rows}", lines=True)

    def _words(self, registers: Sequence[Register]) -> NDArray[np.uint32]:
        """Registers of the warp, 32 bits each; of 64 bits the low half first."""
        here = slice(LANES * self._warp, LANES * (self._warp + 1))
        found: list[NDArray[Any]] = []
        for register in registers:
            bits = self._values.get(register.key, np.zeros(here.stop, np.uint32))[here].astype(np.uint64)
            halves = (bits, bits >> np.uint64(LANES)) if register.type.bits > LANES else (bits,)
            found += [half.astype(np.uint32) for half in halves]
        return np.array(found, np.uint32).reshape(-1, LANES)


def _floats(bits: NDArray[Any], type_: str) -> NDArray[np.float64]:
    """Bit patterns as numbers."""
    if type_ == "f64":
        return bits.view(VALUES[type_])
    format_ = FORMATS[type_]
    assert isinstance(format_, FloatFormat)
    return convert(bits, format_, float_format("f64")).view(np.float64)
