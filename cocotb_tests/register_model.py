"""The fragment register file as the units see it: its two ports, served from an array."""

from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge
from numpy.typing import NDArray

from golden.layouts import LANES

__all__ = ["RegisterModel", "word_of"]

_QUAD = 4


class RegisterModel:
    """Serves the ports ``write_...`` and ``read_...`` of a unit.

    A word read in the cycle in which it is written comes back as it was before.

    Parameters
    ----------
    dut : handle
    registers : int

    Attributes
    ----------
    values : ndarray of uint32, shape (registers, 32)
    writes : int
        Words written.
    """

    def __init__(self, dut: Any, registers: int) -> None:
        self.values: NDArray[np.uint32] = np.zeros((registers, LANES), dtype=np.uint32)
        self.writes = 0
        self._dut = dut
        cocotb.start_soon(self._serve())

    async def _serve(self) -> None:
        dut = self._dut
        edge = RisingEdge(dut.aclk)
        while True:
            await edge
            if dut.read_enable.value:
                register, quad = divmod(int(dut.read_address.value), LANES // _QUAD)
                dut.read_data.value = word_of(self.values[register], quad)
            if dut.write_enable.value:
                self.writes += 1
                register, quad = divmod(int(dut.write_address.value), LANES // _QUAD)
                data, lanes = int(dut.write_data.value), int(dut.write_lanes.value)
                for lane in range(_QUAD):
                    if lanes >> lane & 1:
                        self.values[register, _QUAD * quad + lane] = data >> 32 * lane & 0xFFFF_FFFF


def word_of(register: NDArray[np.uint32], quad: int) -> int:
    """The 128-bit word of a quad of one register, the lowest lane in the low bits."""
    lanes = register[_QUAD * quad : _QUAD * (quad + 1)]
    return sum(int(value) << 32 * lane for lane, value in enumerate(lanes))
