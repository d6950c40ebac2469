# amaranth: UnusedElaboratable=no
"""The settings of the clock multipliers: the frequency asked for, inside the limits of the data sheets."""

from fractions import Fraction

import pytest

from boards.boards import BOARDS
from boards.gateware.clocks.ecp5 import ecp5_dividers
from boards.gateware.clocks.ice40 import ice40_dividers
from boards.gateware.clocks.series7 import series7_dividers

MHZ = 1_000_000


@pytest.mark.parametrize("mhz", [25, 40, 50, 60, 62.5, 75, 80, 100, 125, 200])
def test_ecp5_frequency(mhz: float) -> None:
    found = ecp5_dividers(25 * MHZ, round(mhz * MHZ))
    comparison = Fraction(25 * MHZ, found.reference)
    output = comparison * found.feedback
    assert output == Fraction(mhz) * MHZ
    assert comparison >= Fraction("3.125") * MHZ
    assert 400 * MHZ <= output * found.output <= 800 * MHZ
    assert found.output in range(1, 129)


@pytest.mark.parametrize("mhz", [16.5, 18, 24, 30, 36, 48])
def test_ice40_frequency(mhz: float) -> None:
    found = ice40_dividers(12 * MHZ, round(mhz * MHZ))
    comparison = Fraction(12 * MHZ, found.reference)
    oscillator = comparison * found.feedback
    assert oscillator / 2**found.output_shift == Fraction(mhz) * MHZ
    assert 533 * MHZ <= oscillator <= 1066 * MHZ
    assert found.feedback in range(1, 129)
    assert found.filter_range == 1, "12 MHz is in the lowest range"


@pytest.mark.parametrize(("mhz", "filter_range"), [(17, 2), (26, 3), (48, 4), (100, 5), (133, 6)])
def test_ice40_filter(mhz: int, filter_range: int) -> None:
    assert ice40_dividers(mhz * MHZ, mhz * MHZ).filter_range == filter_range


@pytest.mark.parametrize("mhz", [50, 62.5, 70, 80, 90, 100, 112.5, 150])
def test_series7_frequency(mhz: float) -> None:
    found = series7_dividers(100 * MHZ, round(mhz * MHZ))
    comparison = Fraction(100 * MHZ, found.reference)
    oscillator = comparison * found.feedback_eighths / 8
    assert oscillator * 8 / found.output_eighths == Fraction(mhz) * MHZ
    assert comparison >= 10 * MHZ
    assert 600 * MHZ <= oscillator <= 1200 * MHZ
    assert found.feedback_eighths in range(16, 513)
    assert found.output_eighths in range(16, 1025)


@pytest.mark.parametrize(
    ("dividers", "input_hz", "output_hz", "primitive"),
    [
        (ecp5_dividers, 25 * MHZ, 25 * MHZ + 1, "EHXPLLL"),
        (ecp5_dividers, 25 * MHZ, 1 * MHZ, "EHXPLLL"),
        (ice40_dividers, 12 * MHZ, 17_000_001, "SB_PLL40_PAD"),
        (ice40_dividers, 5 * MHZ, 20 * MHZ, "SB_PLL40_PAD"),
        (ice40_dividers, 12 * MHZ, 12 * MHZ, "SB_PLL40_PAD"),
        (series7_dividers, 100 * MHZ, 100 * MHZ + 1, "MMCME2_BASE"),
    ],
)
def test_unreachable(dividers: object, input_hz: int, output_hz: int, primitive: str) -> None:
    assert callable(dividers)
    with pytest.raises(ValueError, match=rf"from {input_hz} Hz by an {primitive}.*; {output_hz} Hz is not"):
        dividers(input_hz, output_hz)


def test_boards_can_have_their_clock() -> None:
    dividers = {"ecp5": ecp5_dividers, "ice40": ice40_dividers, "series7": series7_dividers}
    for board in BOARDS.values():
        assert dividers[board.family](board.oscillator_hz, board.config.clock_hz)
