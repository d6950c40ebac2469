"""What every clock multiplier has in common: its ports."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ClockMultiplier"]


class ClockMultiplier(wiring.Component):
    """A clock made from the one at a pin.

    Members
    -------
    pin : In(1)
    clock : Out(1)
    locked : Out(1)
        Whether `clock` is what it should be.
    """

    pin: In(1)
    clock: Out(1)
    locked: Out(1)
