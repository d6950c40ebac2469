"""Entries that name the machine's registers themselves: the pragma ``openwmma.raw_registers``.

A verification program reads a register as whatever it likes, and wants its fragments in certain
registers. In an entry with this pragma every 32-bit register *is* the machine register of its number
(``%r12`` is register 12), a vector names 32-bit registers one after the other (for f64 two an element, the
low half first), what they hold is not checked, ``.satfinite`` may stand wherever the WMMA API has it, and
``wgmma.mma_async`` is the core's command for one tile of a warp.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from golden.ptx.allocation import Allocation
from golden.ptx.matrix import WarpStatement
from golden.ptx.source import Source
from golden.ptx.syntax import Instruction, Register, elements

RAW_REGISTERS: Final = "openwmma.raw_registers"
"""The string of the ``.pragma`` directive, between the parameters and the body of an entry."""


def raw_registers(statements: Sequence[Instruction]) -> dict[str, Register]:
    """Every 32-bit register that the statements name, by key."""
    found = (item for item in elements(statements) if isinstance(item, Register))
    return {register.key: register for register in found if register.type.bits == 32}


def allocate_raw(
    source: Source, matrix: Mapping[int, WarpStatement], fragments: Mapping[str, Register]
) -> Allocation:
    """Give each register that `raw_registers` found the place that its name says."""
    position = {key: _number(source, register) for key, register in fragments.items()}
    window = {}
    for index, item in matrix.items():
        for use, registers in item.fragments.items():
            numbers = [position[register.key] for register in registers]
            for register, before, number in zip(registers[1:], numbers, numbers[1:], strict=False):
                if number != before + 1:
                    raise source.error(
                        register.location,
                        f"{register.name} follows register {before}; in an entry with {RAW_REGISTERS} "
                        "a vector names registers one after the other",
                    )
            window[index, use] = numbers[0]
    return Allocation(
        position=position,
        window=window,
        copied=frozenset(),
        registers=1 + max(position.values(), default=-1),
    )


def _number(source: Source, register: Register) -> int:
    digits = register.name[len(register.name.rstrip("0123456789")) :]
    if not digits:
        raise source.error(
            register.location,
            f"{register.name} has no number; in an entry with {RAW_REGISTERS} it says which register it is",
        )
    return int(digits)
