"""The programs of the page `core`: the commands that they give the core, for every choice of their numbers.

The commands do not depend on what the buffers hold, so the page may change that.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from golden.programs.values import command_data
from golden.ptx.syntax import Address, Immediate, Register, Vector
from golden.simt import Kernel, Module, empty
from golden.tables.commands import Command, Fill, Load, Mma, Store
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from hdl.command import encode

__all__ = ["BASE", "BUFFER_BYTES", "FOLDER", "describe_programs"]

FOLDER: Final = Path(__file__).parents[1] / "pages" / "core" / "programs"

BASE: Final = 0x10000
"""Address of the first buffer on the page."""

BUFFER_BYTES: Final = 0x1000
"""From one buffer to the next."""

SIZES: Final = (16, 32, 48, 64)
"""What a parameter that is no buffer may be."""

_REACHED_BYTES: Final = 1 << 25
"""Memory of golden, which ends far behind the memory of the page: that has to refuse what lies beyond it."""


def describe_programs() -> dict[str, Any]:
    """The programs by name; only what JSON can hold.

    Returns
    -------
    dict
        Of each program ``name``, ``registers``, ``parameters`` with `name` and `type`, and ``variants``: the
        ``numbers`` and the ``commands``. A command has ``words``, its ``line`` and ``text`` in the program,
        and ``command``, of which `answers.core_program` makes it again.
    """
    return {path.stem: _describe(path) for path in sorted(FOLDER.glob("*.ptx"))}


def _describe(path: Path) -> dict[str, Any]:
    kernel = Module(path.read_text(), path.name).kernel()
    parameters = [(parameter.name, parameter.type.name) for parameter, _ in kernel.compiled.parameters]
    numbers = [name for name, type_ in parameters if type_ != "u64"]
    registers = _registers(kernel)
    return {
        "name": kernel.name,
        "registers": len(registers),
        "parameters": [{"name": name, "type": type_} for name, type_ in parameters],
        "variants": [
            {
                "numbers": dict.fromkeys(numbers, size),
                "commands": _commands(kernel, registers, dict.fromkeys(numbers, size)),
            }
            for size in (SIZES if numbers else SIZES[:1])
        ],
    }


def _commands(
    kernel: Kernel, registers: Mapping[str, int], numbers: Mapping[str, int]
) -> list[dict[str, Any]]:
    """The commands of a launch on one warp."""
    memory = empty(_REACHED_BYTES, np.uint8)
    parameters = [parameter.name for parameter, _ in kernel.compiled.parameters]
    buffers = {name: memory.address + BUFFER_BYTES * index for index, name in enumerate(parameters)}
    log = _Log(registers, BASE - memory.address)
    kernel.launch(1, 32, {**buffers, **numbers}, on_step=log)
    return [
        {"words": encode(command), "line": line, "text": text, "command": command_data(command)}
        for command, line, text in log.commands
    ]


def _registers(kernel: Kernel) -> dict[str, int]:
    """The core's register for each register of a fragment, in the order in which the program names them."""
    vectors = [
        operand
        for block in kernel.compiled.blocks
        for step in block.steps
        if step.matrix is not None
        for operand in step.instruction.operands
        if isinstance(operand, Vector)
    ]
    names = [item.key for vector in vectors for item in vector.elements if isinstance(item, Register)]
    return {key: number for number, key in enumerate(dict.fromkeys(names))}


class _Log:
    """Makes commands of the instructions of a launch, as its `on_step`.

    Parameters
    ----------
    registers : mapping of str to int
        As `_registers` gives them.
    offset : int
        From an address of the launch to an address of the page.
    """

    def __init__(self, registers: Mapping[str, int], offset: int) -> None:
        self.commands: list[tuple[Command, int, str]] = []
        self._registers = registers
        self._offset = offset
        self._values: dict[int, int] = {}

    def __call__(self, run: Any, statement: Any, threads: Any, slots: Any, values: Any) -> None:
        self._values |= {slot: int(np.asarray(value)[0]) for slot, value in zip(slots, values, strict=True)}
        source = run.kernel.source_line(statement.index)
        operands = statement.instruction.operands
        matrix = getattr(statement, "matrix", None)
        if matrix is not None:
            self.commands.append((self._command(run.kernel, matrix, operands), source.line, source.text))
        elif operands and isinstance(operands[0], Register) and operands[0].key in self._registers:
            register = self._registers[operands[0].key]
            self._fill(register, self._values[slots[0]], source.line, source.text)

    def _fill(self, register: int, value: int, line: int, text: str) -> None:
        """Fill a register, by the command before if that fills those in front of it."""
        before = self.commands[-1] if self.commands else None
        if before is not None and isinstance(before[0], Fill):
            first, count = before[0].register, before[0].count
            if (first + count, before[0].value) == (register, value):
                self.commands[-1] = Fill(first, count + 1, value), *before[1:]
                return
        self.commands.append((Fill(register, 1, value), line, text))

    def _command(self, kernel: Any, matrix: Any, operands: Any) -> Load | Store | Mma:
        firsts = [self._first(operand) for operand in operands if isinstance(operand, Vector)]
        if isinstance(matrix, MmaInstruction):
            return Mma(matrix, *firsts)
        place = next(operand for operand in operands if isinstance(operand, Address))
        address = self._value(kernel, place.base) + place.offset + self._offset
        stride = self._value(kernel, operands[2]) if len(operands) == 3 else None
        if isinstance(matrix, LoadInstruction):
            return Load(matrix, firsts[0], address, stride)
        assert isinstance(matrix, StoreInstruction)
        return Store(matrix, firsts[0], address, stride)

    def _first(self, vector: Vector) -> int:
        numbers = [self._registers[item.key] for item in vector.elements if isinstance(item, Register)]
        assert numbers == list(range(numbers[0], numbers[0] + len(vector.elements))), vector
        return numbers[0]

    def _value(self, kernel: Any, operand: Any) -> int:
        if isinstance(operand, Immediate):
            return int(operand.value)
        return self._values[kernel.slots[operand.key]]
