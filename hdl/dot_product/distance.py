"""Distance: how far below Emax each term lies."""

from amaranth.hdl import Cat, Module, Mux, Value

from hdl.dot_product.adders import differences
from hdl.dot_product.fields import DotProductStage
from hdl.stream.pipeline import Cut


class Distance(DotProductStage):
    """Subtract the exponents from Emax.

    Expected critical path: the carry chain of four lanes, 36 bits, and the OR of a difference's upper bits.

    Members
    -------
    output.fine : 16 x 3
        Distance of each product from Emax modulo 8; for fp8 the distance plus one, modulo 4.
    output.coarse : 16 x 3
        Divided by 8; 4 and more stand for 32 and anything beyond it, and then `fine` means nothing.
    output.quarter : 16
        Bit 2 of the distance plus one, for fp8; 0 otherwise. Only with fp8 beside other formats.
        Where only fp8 is computed, there are no `fine` and `coarse` either.
    output.foreign : 16 x 3
        Of a product of fp8, shifted left by 3 less `fine`, whether the lowest three bits are not its own
        (`Multiply`); 0 otherwise. Together with `quarter`.
    output.c_distance : 6
        32 and more stand for anything beyond.
    """

    delays = (5.2,)
    input_fields = "operation maximum product_exponent c_exponent"
    output_fields = "fine coarse quarter foreign c_distance"

    def _logic(self, m: Module, cut: Cut) -> None:
        maximum = self.input.maximum
        if self.widths.lanes:
            self._lanes(m, cut)
        c_distance = cut(_clamped((maximum - self.input.c_exponent)[: len(maximum)]), "c_distance")
        m.d.comb += self.output.c_distance.eq(c_distance)

    def _lanes(self, m: Module, cut: Cut) -> None:
        has_quarters = "quarter" in self.produces
        fp8 = self.widths.chosen(self.input.operation.multiplicand, frozenset({"fp8"}))
        exponents = list(self.input.product_exponent)
        for lane, difference in enumerate(differences(m, self.input.maximum, exponents)):
            distance = _clamped(difference)
            fine, coarse = distance[:3], distance[3:]
            if has_quarters:
                fine = Cat(fine[:2], Mux(fp8, 0, fine[2]))
                quarter = cut(Mux(fp8, distance[2], 0), f"quarter{lane}")
                foreign = Mux(fp8, ~Cat(fine[:2].all(), fine[1], fine[:2].any()), 0)
                m.d.comb += [
                    self.output.quarter[lane].eq(quarter),
                    self.output.foreign[lane].eq(cut(foreign[:3], f"foreign{lane}")),
                ]
            late = cut(Cat(fine, coarse), f"distance{lane}")
            m.d.comb += [self.output.fine[lane].eq(late[:3]), self.output.coarse[lane].eq(late[3:])]


def _clamped(difference: Value) -> Value:
    return Cat(difference[:5], difference[5:].any())
