"""Distance of fp8: how far below Emax the products with lanes of their own lie."""

from amaranth.hdl import Cat, Module, Mux, Value

from hdl.dot_product.adders import differences
from hdl.dot_product.fields import DotProductStage
from hdl.dot_product.widths import FP8_EXPONENT_BITS
from hdl.stream.pipeline import Cut


class Fp8Distance(DotProductStage):
    """Subtract the exponents from Emax; a significand too far below it becomes zero.

    A product that is not zero has an exponent of 130 to 189 with `Widths.half_offset`, and Emax is not less.
    So seven bits of the difference suffice where Emax is below 256, and 16 and more leave nothing: a product
    has eight bits, of which the window keeps 15 at distance 0. With block scales these are 386 to 445 and
    512; a window of 27 bits keeps what is less than 32 below.

    Expected critical path: the carry chain of four lanes, 28 bits, and the OR of a difference's upper bits.

    Members
    -------
    output.fp8_fine : `Widths.fp8_lanes` x 2
        Distance from Emax modulo 4.
    output.fp8_quarter : `Widths.fp8_lanes`
        Bit 2 of the distance.
    output.fp8_near, output.fp8_far : `Widths.fp8_lanes`
        Whether it is below 8, or not; both in other formats. With a window of 27 bits, near is low only from
        8 to 15, and far from 0 to 7.
    output.fp8_middle, output.fp8_farthest : `Widths.fp8_lanes`
        Low only from 16 to 23, and from 24 to 31. Only with such a window.
    output.fp8_shifted : `Widths.fp8_lanes`
        Whether bit 1 of the distance is zero, so that the significand of a is shifted left by 2. Only beside
        other formats.
    output.fp8_a, output.fp8_b : `Widths.fp8_lanes` x 4
        Significands; one of them is zero where the distance is as far as nothing is left, and in other
        formats.
    """

    delays = (5.2,)
    input_fields = "operation maximum fp8_exponent fp8_significand_a fp8_significand_b"
    output_fields = "fp8_fine fp8_quarter fp8_near fp8_far fp8_middle fp8_farthest fp8_shifted fp8_a fp8_b"

    def _logic(self, m: Module, cut: Cut) -> None:
        given, output = self.input, self.output
        fp8 = self.widths.chosen(given.operation.multiplicand, frozenset({"fp8"}))
        is_short = self.widths.fp8_is_short
        reach = 4 if is_short else 5
        top = self.widths.half_offset.bit_length()
        quarters: list[Value] = []
        shifted: list[Value] = []
        cases: list[list[Value]] = [[], [], [], []]
        far, near, middle, farthest = cases
        bits = FP8_EXPONENT_BITS + 1
        distances = differences(m, given.maximum[:bits], list(given.fp8_exponent))
        for lane, distance in enumerate(distances):
            kept = fp8 & ~(given.maximum[top:].any() | distance[reach:].any())
            a = Mux(kept, given.fp8_significand_a[lane], 0)
            b = Mux(fp8, given.fp8_significand_b[lane], 0)
            m.d.comb += [
                output.fp8_fine[lane].eq(cut(distance[:2], f"fine{lane}")),
                output.fp8_a[lane].eq(cut(a, f"a{lane}")),
                output.fp8_b[lane].eq(cut(b, f"b{lane}")),
            ]
            quarters.append(distance[2])
            shifted.append(~distance[1])
            if is_short:
                near.append(~fp8 | ~distance[3])
                far.append(~fp8 | distance[3])
                continue
            # Low in the case of each of the four values of two bits.
            for value, case in enumerate(cases):
                case.append(~fp8 | (distance[3:5] != value))
        m.d.comb += [
            output.fp8_quarter.eq(cut(Cat(*quarters), "quarter")),
            output.fp8_near.eq(cut(Cat(*near), "near")),
            output.fp8_far.eq(cut(Cat(*far), "far")),
        ]
        if not is_short:
            m.d.comb += [
                output.fp8_middle.eq(cut(Cat(*middle), "middle")),
                output.fp8_farthest.eq(cut(Cat(*farthest), "farthest")),
            ]
        if self.widths.lanes:
            m.d.comb += output.fp8_shifted.eq(cut(Cat(*shifted), "shifted"))
