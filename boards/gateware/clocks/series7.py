"""The clock multiplier of a 7-series FPGA."""

from dataclasses import dataclass
from typing import Final

from amaranth.hdl import Const, Instance, Module, Signal

from boards.gateware.clocks.multiplier import ClockMultiplier, unreachable

__all__ = ["Series7Clock", "Series7Dividers", "series7_dividers"]

_OSCILLATOR_HZ: Final = (600_000_000, 1_200_000_000)
_COMPARISON_HZ: Final = (10_000_000, 450_000_000)
_EIGHTHS: Final = 8


@dataclass(frozen=True, kw_only=True)
class Series7Dividers:
    """Settings of an MMCME2_BASE.

    Parameters
    ----------
    reference : int
        What divides the input.
    feedback_eighths, output_eighths : int
        What divides the oscillator before the phase comparison and before the output, in eighths.
    """

    reference: int
    feedback_eighths: int
    output_eighths: int


def series7_dividers(input_hz: int, output_hz: int) -> Series7Dividers:
    """Find the settings that give a frequency exactly.

    Of all that do, those with the fastest phase comparison, and of those the ones with the fastest
    oscillator, which jitter least.

    Parameters
    ----------
    input_hz, output_hz : int

    Raises
    ------
    ValueError
        If none do.
    """
    for reference in range(1, 107):
        if not _COMPARISON_HZ[0] <= input_hz / reference <= _COMPARISON_HZ[1]:
            continue
        for feedback in range(64 * _EIGHTHS, 2 * _EIGHTHS - 1, -1):
            oscillator = input_hz * feedback / (_EIGHTHS * reference)
            output, rest = divmod(input_hz * feedback, output_hz * reference)
            if (
                _OSCILLATOR_HZ[0] <= oscillator <= _OSCILLATOR_HZ[1]
                and not rest
                and 2 * _EIGHTHS <= output <= 128 * _EIGHTHS
            ):
                return Series7Dividers(reference=reference, feedback_eighths=feedback, output_eighths=output)
    raise unreachable(input_hz, output_hz, "MMCME2_BASE, whose oscillator runs at 600 to 1200 MHz")


class Series7Clock(ClockMultiplier):
    """An MMCME2_BASE that multiplies the clock at a pin, and the buffers of the clock network."""

    def place(self, m: Module) -> None:
        """Place the MMCME2_BASE, and a buffer behind each of its outputs."""
        dividers = series7_dividers(self.input_hz, self.output_hz)
        raw = Signal()
        feedback = Signal()
        returned = Signal()
        m.submodules.mmcm = Instance(
            "MMCME2_BASE",
            p_CLKIN1_PERIOD=1e9 / self.input_hz,
            p_DIVCLK_DIVIDE=dividers.reference,
            p_CLKFBOUT_MULT_F=dividers.feedback_eighths / _EIGHTHS,
            p_CLKOUT0_DIVIDE_F=dividers.output_eighths / _EIGHTHS,
            i_CLKIN1=self.pin,
            i_CLKFBIN=returned,
            i_PWRDWN=Const(0),
            i_RST=Const(0),
            o_CLKFBOUT=feedback,
            o_CLKOUT0=raw,
            o_LOCKED=self.locked,
        )
        # The feedback passes a buffer like the clock's, so that the delay of the network cancels.
        m.submodules.feedback_buffer = Instance("BUFG", i_I=feedback, o_O=returned)
        m.submodules.clock_buffer = Instance("BUFG", i_I=raw, o_O=self.clock)
