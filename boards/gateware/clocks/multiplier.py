"""What every clock multiplier has in common: its ports, and how it is refused what it cannot do."""

from abc import ABC, abstractmethod

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ClockMultiplier", "unreachable"]


class ClockMultiplier(wiring.Component, ABC):
    """A clock made from the one at a pin, by the multiplier of one kind of FPGA.

    Parameters
    ----------
    input_hz, output_hz : int

    Members
    -------
    pin : In(1)
    clock : Out(1)
    locked : Out(1)
        Whether `clock` is what it should be.

    Testbench
    ---------
    tests/boards/test_fpga_constraints.py, through `BoardDesign`; the cells are the vendors' and are not
    simulated.
    """

    pin: In(1)
    clock: Out(1)
    locked: Out(1)

    def __init__(self, input_hz: int, output_hz: int) -> None:
        self.input_hz = input_hz
        self.output_hz = output_hz
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module; ValueError where no settings of the multiplier give the frequency."""
        m = Module()
        self.place(m)
        return m

    @abstractmethod
    def place(self, m: Module) -> None:
        """Place the cells of the FPGA."""


def unreachable(input_hz: int, output_hz: int, limits: str) -> ValueError:
    """The error for a frequency that no settings give; `limits` names the cell and what it can do."""
    return ValueError(f"Clock must be reachable from {input_hz} Hz by an {limits}; {output_hz} Hz is not")
