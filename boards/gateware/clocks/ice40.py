"""The clock multiplier of an iCE40."""

from dataclasses import dataclass
from typing import Final

from amaranth.hdl import Const, Instance, Module

from boards.gateware.clocks.multiplier import ClockMultiplier, unreachable

__all__ = ["Ice40Clock", "Ice40Dividers", "ice40_dividers"]

_OSCILLATOR_HZ: Final = (533_000_000, 1_066_000_000)
_OUTPUT_HZ: Final = (16_000_000, 275_000_000)
_COMPARISON_HZ: Final = (10_000_000, 133_000_000)
_FILTERS: Final = (17_000_000, 26_000_000, 44_000_000, 66_000_000, 101_000_000, 133_000_000)
"""The comparison frequencies at which one range of the loop filter ends; the first range is number 1."""


@dataclass(frozen=True, kw_only=True)
class Ice40Dividers:
    """Settings of an SB_PLL40_PAD in its simple feedback path.

    Parameters
    ----------
    reference, feedback : int
        What divides the input, and the oscillator before the phase comparison.
    output_shift : int
        The oscillator is divided by two to this power.
    filter_range : int
        Of the loop filter.
    """

    reference: int
    feedback: int
    output_shift: int
    filter_range: int


def ice40_dividers(input_hz: int, output_hz: int) -> Ice40Dividers:
    """Find the settings that give a frequency exactly, with the fastest phase comparison.

    Parameters
    ----------
    input_hz, output_hz : int

    Raises
    ------
    ValueError
        If none do.
    """
    for reference in range(1, 17):
        comparison = input_hz / reference
        if not _COMPARISON_HZ[0] <= comparison <= _COMPARISON_HZ[1]:
            continue
        for shift in range(1, 7):
            feedback, rest = divmod((output_hz << shift) * reference, input_hz)
            if rest or not 1 <= feedback <= 128:
                continue
            in_range = _OUTPUT_HZ[0] <= output_hz <= _OUTPUT_HZ[1]
            if in_range and _OSCILLATOR_HZ[0] <= output_hz << shift <= _OSCILLATOR_HZ[1]:
                return Ice40Dividers(
                    reference=reference,
                    feedback=feedback,
                    output_shift=shift,
                    filter_range=1 + sum(comparison >= end for end in _FILTERS[:-1]),
                )
    limits = "SB_PLL40_PAD, whose oscillator runs at 533 to 1066 MHz and its output at 16 to 275 MHz"
    raise unreachable(input_hz, output_hz, limits)


class Ice40Clock(ClockMultiplier):
    """An SB_PLL40_PAD, which multiplies the clock at the pin next to it.

    Its `pin` goes nowhere else: it takes the place of the pin's input buffer.
    """

    def place(self, m: Module) -> None:
        """Place the SB_PLL40_PAD."""
        dividers = ice40_dividers(self.input_hz, self.output_hz)
        m.submodules.pll = Instance(
            "SB_PLL40_PAD",
            p_FEEDBACK_PATH="SIMPLE",
            p_DIVR=Const(dividers.reference - 1, 4),
            p_DIVF=Const(dividers.feedback - 1, 7),
            p_DIVQ=Const(dividers.output_shift, 3),
            p_FILTER_RANGE=Const(dividers.filter_range, 3),
            i_PACKAGEPIN=self.pin,
            i_RESETB=Const(1),
            i_BYPASS=Const(0),
            o_PLLOUTGLOBAL=self.clock,
            o_LOCK=self.locked,
        )
