"""The popcount: equal to its definition, for all operands.

A solver that is asked for the sum of 128 bits finds no end. But a function of bits that is 0 where none is
one, and goes up by one where any bit becomes one, whatever the others are, counts them: add the ones of an
operand one after the other. That takes a proof for each bit, in which the two operands, and so most of the
two circuits, are the same.
"""

from types import ModuleType

import pytest
from amaranth.hdl import Cat, Const, Mux

from formal.claims import Claim, implies
from formal.faults import faulty
from formal.runner import Counterexample, Flushed, prove
from hdl.config import DotProductConfig
from hdl.dot_product import popcount
from hdl.dot_product.operands import Multiplicand

pytestmark = [pytest.mark.formal, pytest.mark.long]


CONFIG = DotProductConfig(formats=frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1"}))


def counted(place: int, hdl: ModuleType = popcount) -> Claim:
    """`Popcount`: nothing counts 0, and the bit at a place counts one. Assumes a format that exists."""
    claim = Claim()
    unit = hdl.Popcount(CONFIG)
    claim.include(unit)
    a, b = unit.input.a[: hdl.BITS], unit.input.b[: hdl.BITS]
    operation = unit.input.operation
    claim.assume("format", Cat(operation.multiplicand == name for name in Multiplicand).any())
    enable = operation.multiplicand == Multiplicand.B1
    bits = Mux(enable, Mux(operation.bitwise_and, a & b, a ^ b), 0)
    late = claim.past(bits, unit.latency, name="bits")
    claim.always("nothing", implies(late == 0, unit.output.count == 0))
    other = hdl.Popcount(CONFIG)
    claim.module.submodules.other = other
    claim.module.d.comb += [
        other.input.a.eq(bits ^ Const(1 << place, len(bits))),
        other.input.operation.multiplicand.eq(Multiplicand.B1),
    ]
    count = unit.output.count
    claim.always("bit", other.output.count == Mux(late[place], count - 1, count + 1)[:8])
    return claim


@pytest.mark.parametrize("place", range(popcount.BITS))
def test_popcount(place: int) -> None:
    prove(f"popcount_{place}", counted(place), Flushed(len(popcount.Popcount.delays)))


def test_faulty_popcount() -> None:
    """A full adder whose carry forgets a pair."""
    broken = faulty(popcount, "(x & y) | (x & z) | (y & z)", "(x & y) | (x & z)")
    with pytest.raises(Counterexample, match="broken: bit"):
        prove("faulty_popcount", counted(0, broken), Flushed(len(popcount.Popcount.delays)))
