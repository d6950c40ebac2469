"""The popcount: equal to its definition, for all operands.

A solver that is asked for the sum of 128 bits finds no end. But a function of bits that is 0 where none is
one, and goes up by one where any bit becomes one, whatever the others are, counts them: add the ones of an
operand one after the other. That takes a proof for each bit, in which the two operands, and so most of the
two circuits, are the same.
"""

from types import ModuleType

import pytest
from amaranth.hdl import Const, Mux

from formal.claims import Claim, implies
from formal.faults import faulty
from formal.runner import Counterexample, Flushed, prove
from hdl.dot_product import popcount

pytestmark = [pytest.mark.formal, pytest.mark.long]


def counted(place: int, hdl: ModuleType = popcount) -> Claim:
    """`Popcount`: nothing counts 0, and the bit at a place counts one. No assumptions."""
    claim = Claim()
    unit = hdl.Popcount()
    claim.include(unit)
    bits = Mux(unit.enable, Mux(unit.bitwise_and, unit.a & unit.b, unit.a ^ unit.b), 0)
    late = claim.past(bits, unit.latency, name="bits")
    claim.always("nothing", implies(late == 0, unit.count == 0))
    other = hdl.Popcount()
    claim.module.submodules.other = other
    claim.module.d.comb += [other.a.eq(bits ^ Const(1 << place, len(bits))), other.enable.eq(1)]
    claim.always("bit", other.count == Mux(late[place], unit.count - 1, unit.count + 1)[:8])
    return claim


@pytest.mark.parametrize("place", range(popcount.BITS))
def test_popcount(place: int) -> None:
    prove(f"popcount_{place}", counted(place), Flushed(popcount.Popcount.latency))


def test_faulty_popcount() -> None:
    """A full adder whose carry forgets a pair."""
    broken = faulty(popcount, "(x & y) | (x & z) | (y & z)", "(x & y) | (x & z)")
    with pytest.raises(Counterexample, match="broken: bit"):
        prove("faulty_popcount", counted(0, broken), Flushed(popcount.Popcount.latency))
