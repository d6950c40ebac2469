"""A core that is wrong on purpose: what the search must find, shrink and bring back."""

import numpy as np

from golden.machine import Counters
from golden.tables.commands import Mma
from golden.warp import GoldenMachine
from sim.testbench.reference import golden_machine


class WrongMachine:
    """The golden machine, but in bf16 the last element of every result has its lowest bit flipped."""

    def __init__(self, program):
        self._machine: GoldenMachine = golden_machine(program.config, program.fresh_memory())

    @property
    def memory(self):
        return self._machine.memory

    @property
    def shared(self):
        return self._machine.shared

    @property
    def profile(self):
        return self._machine.profile

    @property
    def counters(self):
        return Counters(instructions=self._machine.counters.instructions)

    @property
    def register_count(self):
        return self._machine.register_count

    @property
    def warp_count(self):
        return self._machine.warp_count

    def executed(self, warp=0):
        return self._machine.executed(warp)

    def read_registers(self, first=0, count=None, *, warp=0):
        return self._machine.read_registers(first, count, warp=warp)

    def inspect_registers(self):
        return self._machine.inspect_registers()

    def write_registers(self, first, values, *, warp=0):
        self._machine.write_registers(first, values, warp=warp)

    def execute(self, command):
        self._machine.execute(command)
        if isinstance(command, Mma) and command.instruction.a_type == "bf16":
            last = self.read_registers()[command.d + 7 : command.d + 8]
            last[0, 31] ^= np.uint32(1)
            self.write_registers(command.d + 7, last)

    def queue(self, work):
        for command in work:
            self.execute(command)

    def finish(self):
        self._machine.finish()

    def close(self):
        self._machine.close()
