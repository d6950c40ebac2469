"""The clock multiplier of an ECP5."""

from dataclasses import dataclass
from typing import Final

from amaranth.hdl import Const, Instance, Module

from boards.gateware.clocks.multiplier import ClockMultiplier, unreachable

__all__ = ["Ecp5Clock", "Ecp5Dividers", "ecp5_dividers"]

_OSCILLATOR_HZ: Final = (400_000_000, 800_000_000)
_MIDDLE_HZ: Final = 600_000_000
_COMPARISON_HZ: Final = (3_125_000, 400_000_000)
_DIVIDERS: Final = range(1, 129)
_FEEDBACKS: Final = range(1, 81)


@dataclass(frozen=True, kw_only=True)
class Ecp5Dividers:
    """Settings of an EHXPLLL whose feedback comes from its output.

    Parameters
    ----------
    reference, feedback, output : int
        What divides the input before the phase comparison, the output before it, and the oscillator before
        the output.
    """

    reference: int
    feedback: int
    output: int


def ecp5_dividers(input_hz: int, output_hz: int) -> Ecp5Dividers:
    """Find the settings that give a frequency exactly.

    Of all that do, those with the fastest phase comparison, which jitters least, and of those the ones whose
    oscillator is nearest to the middle of its range.

    Parameters
    ----------
    input_hz, output_hz : int

    Raises
    ------
    ValueError
        If none do.
    """
    for reference in _DIVIDERS:
        if not _COMPARISON_HZ[0] <= input_hz / reference <= _COMPARISON_HZ[1]:
            continue
        feedback, rest = divmod(output_hz * reference, input_hz)
        outputs = [
            output for output in _DIVIDERS if _OSCILLATOR_HZ[0] <= output_hz * output <= _OSCILLATOR_HZ[1]
        ]
        if not rest and feedback in _FEEDBACKS and outputs:
            nearest = min(outputs, key=lambda output: abs(output_hz * output - _MIDDLE_HZ))
            return Ecp5Dividers(reference=reference, feedback=feedback, output=nearest)
    raise unreachable(input_hz, output_hz, "EHXPLLL, whose oscillator runs at 400 to 800 MHz")


class Ecp5Clock(ClockMultiplier):
    """An EHXPLLL that multiplies the clock at a pin."""

    def place(self, m: Module) -> None:
        """Place the EHXPLLL."""
        dividers = ecp5_dividers(self.input_hz, self.output_hz)
        attributes = {
            "FREQUENCY_PIN_CLKI": f"{self.input_hz / 1e6:g}",
            "FREQUENCY_PIN_CLKOP": f"{self.output_hz / 1e6:g}",
            # Loop filter and charge pump as the vendor's tool sets them.
            "ICP_CURRENT": "12",
            "LPF_RESISTOR": "8",
        }
        m.submodules.pll = Instance(
            "EHXPLLL",
            *(("a", name, value) for name, value in attributes.items()),
            p_CLKI_DIV=dividers.reference,
            p_CLKFB_DIV=dividers.feedback,
            p_CLKOP_DIV=dividers.output,
            p_CLKOP_ENABLE="ENABLED",
            p_CLKOP_CPHASE=dividers.output - 1,
            p_CLKOP_FPHASE=0,
            p_FEEDBK_PATH="CLKOP",
            p_PLLRST_ENA="DISABLED",
            p_STDBY_ENABLE="DISABLED",
            i_CLKI=self.pin,
            i_CLKFB=self.clock,
            i_RST=Const(0),
            i_STDBY=Const(0),
            i_PHASESEL0=Const(0),
            i_PHASESEL1=Const(0),
            i_PHASEDIR=Const(1),
            i_PHASESTEP=Const(1),
            i_PHASELOADREG=Const(1),
            i_PLLWAKESYNC=Const(0),
            i_ENCLKOP=Const(0),
            o_CLKOP=self.clock,
            o_LOCK=self.locked,
        )
