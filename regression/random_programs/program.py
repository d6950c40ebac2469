"""A program as it runs: commands, the memory they begin with, and how that memory behaves."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.memory import Memory
from golden.programs.buffers import BASE
from golden.tables.commands import Command, Load, Store
from golden.tables.instruction_set import Shape, Space
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction
from golden.warp import GoldenMachine
from hdl.config import PRESETS, CoreConfig
from sim.machines import golden_machine
from sim.simulation import BusTiming

SHARED_WINDOW: Final = 4 * 4096
"""Bytes of on-chip memory that programs use, from its first on."""

BLOCK_BYTES: Final = 1024
"""What one load of f32 brings into eight registers: any bytes, for nothing changes them."""

BLOCK_REGISTERS: Final = 8
"""How many registers that is."""

_SQUARE: Final = Shape(16, 16, 16)


@dataclass(frozen=True, kw_only=True)
class Program:
    """Commands for a core that was just reset: its registers and on-chip memory are zeros."""

    preset: str
    """Name of the core's configuration, of `hdl.config.PRESETS`."""
    seed: tuple[int, int]
    """What it was made from: the seed of the run, and its number in it."""
    timing: BusTiming
    """How global memory behaves."""
    memory: NDArray[Any]
    """What global memory holds at the start, from `golden.programs.buffers.BASE` on; a multiple of 4096
    bytes."""
    commands: tuple[Command, ...]

    @property
    def config(self) -> CoreConfig:
        """The configuration of the core."""
        return PRESETS[self.preset]

    def fresh_memory(self) -> Memory:
        """Global memory as it is at the start."""
        memory = Memory(self.memory.size, BASE)
        np.copyto(memory.data, self.memory)
        return memory

    def golden(self) -> GoldenMachine:
        """The golden machine on which the program starts."""
        return golden_machine(self.config, self.fresh_memory())


def block_load(register: int, address: int, space: Space = "global") -> Load:
    """Load `BLOCK_BYTES` bytes, whatever they are, into eight registers."""
    instruction = LoadInstruction(use="c", layout="row", shape=_SQUARE, type="f32", space=space)
    return Load(instruction, register, address)


def block_store(register: int, address: int, space: Space = "global") -> Store:
    """Store eight registers, whatever they hold, to `BLOCK_BYTES` bytes."""
    instruction = StoreInstruction(layout="row", shape=_SQUARE, type="f32", space=space)
    return Store(instruction, register, address)


def observed_bytes(config: CoreConfig) -> int:
    """Bytes of global memory that `observations` needs."""
    return BLOCK_BYTES * config.registers // BLOCK_REGISTERS + SHARED_WINDOW


def observations(config: CoreConfig, address: int) -> list[Command]:
    """Commands that bring all registers and the used on-chip memory into global memory, to be compared.

    They overwrite `observed_bytes` from the address on, and take an eighth of the cycles that the host would
    need to read them.
    """
    commands: list[Command] = []
    for register in range(0, config.registers, BLOCK_REGISTERS):
        commands.append(block_store(register, address))
        address += BLOCK_BYTES
    for place in range(0, min(SHARED_WINDOW, config.shared_bytes), BLOCK_BYTES):
        register = place // BLOCK_BYTES * BLOCK_REGISTERS % config.registers
        commands += [block_load(register, place, "shared"), block_store(register, address)]
        address += BLOCK_BYTES
    return commands
