"""Decode: raw multiplicands to signs, exponents and significands."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hdl.dot_product.adders import sums
from hdl.dot_product.fields import DotProductStage
from hdl.dot_product.fp8_decode import small_elements, small_exponent, whole_containers
from hdl.dot_product.widths import LANES, WIDE
from hdl.dot_product.words import PLACE, WORDS, common, every_place, flags, places, spread, up
from hdl.stream.pipeline import Cut, behind


@dataclass(frozen=True)
class _Operands:
    """Words of four multiplicands; an infinity is `maximal` and has no fraction, a NaN has one."""

    significand: Value
    exponent: Value
    sign: Value
    maximal: Value
    fraction: Value
    zero: Value


@dataclass(frozen=True)
class _Kinds:
    """What the elements of one operand are; `wide` and the following one cycle later than the others.

    None of what only small elements have, if there are none.
    """

    tf32: Value
    fp8: Value
    e5m2: Value
    small: Value | None
    e2m1: Value | None
    wide: Value
    e4m3: Value
    late_small: Value | None
    late_e5m2: Value | None


class Decode(DotProductStage):
    """Take the multiplicands apart (IEEE 754-2019, 3.4, and the like fields of bf16 and tf32).

    Lane k holds element k of f16 and bf16. A tf32 element takes two lanes: its upper half is a bf16 in the
    odd one, which decodes it, and three more fraction bits lie in the even one; all other lanes count as
    zero. For integers, lanes 0 to 7 pass their low byte through in the low bits of the significand. Lane k
    also holds the elements 2 k and 2 k + 1 of fp8 and decodes the odd one, which becomes fields of an f16:
    e5m2 is the upper half of one; e4m3 is spread over the fields, without bit 3 of the exponent, which the
    difference of the biases, 8, makes the inverse of the highest one. Smaller elements take the fields of
    either (`hdl.dot_product.fp8_decode.whole_containers`).

    Zero products get the travelling exponent 0 and so do not raise the maximum.

    Expected critical path: hidden bit and class of an operand, three look-up tables.

    Members
    -------
    output.significand_a, output.significand_b : 4 x 64
        Words of four lanes; 11 bits, fixed point with 10 fraction bits.
    output.byte_a, output.byte_b : 2 x 64
        Bytes 1, 3, ... 15, in words of the lanes 8 to 15; only with integers of more than one bit.
    output.product_exponent : 16 x 9
        With the offset of `Widths`, less one for fp8.
    output.sign : 16
        Of the products.
    output.nan, output.infinite : 4 x 64
        Words of flags: what a product is.
    """

    delays = (3.5, 3.4, 3.4)
    input_fields = "a b operation"
    output_fields = "significand_a significand_b byte_a byte_b product_exponent sign nan infinite"

    def _logic(self, m: Module, *cuts: Cut) -> None:
        output = self.output
        multiplicand = self.input.operation.multiplicand
        tf32 = self.widths.chosen(multiplicand, frozenset({"tf32"}))
        fp8 = self.widths.chosen(multiplicand, frozenset({"fp8"}))
        first, _, third = cuts
        wide = first(self.widths.chosen(multiplicand, WIDE), "wide")
        e5m2_a, e5m2_b = fp8 & self.input.operation.a_e5m2, fp8 & self.input.operation.b_e5m2
        kinds_a, kinds_b = (
            _Kinds(
                *(tf32, fp8, e5m2, *small_elements(self.config, self.input.operation, side)),
                *(wide, first(fp8 & ~e5m2, f"{side}_e4m3"), *self._late(first, fp8, e5m2, side)),
            )
            for side, e5m2 in (("a", e5m2_a), ("b", e5m2_b))
        )
        signs = []
        sides_a: list[_Operands] = []
        sides_b: list[_Operands] = []
        for index in range(WORDS):
            a = self._operands(m, cuts, self.input.a.word_select(index, 64), index, kinds_a, "a")
            b = self._operands(m, cuts, self.input.b.word_select(index, 64), index, kinds_b, "b")
            sides_a.append(a)
            sides_b.append(b)
            nan = (
                (a.maximal & a.fraction)
                | (b.maximal & b.fraction)
                | (a.maximal & b.zero)
                | (a.zero & b.maximal)
            )
            nan = common(m, nan)
            m.d.comb += [
                output.significand_a[index].eq(third(a.significand, f"significand_a{index}")),
                output.significand_b[index].eq(third(b.significand, f"significand_b{index}")),
                output.nan[index].eq(third(nan, f"nan{index}")),
                output.infinite[index].eq(third((a.maximal | b.maximal) & ~nan, f"infinite{index}")),
            ]
            signs.append(third(a.sign ^ b.sign, f"product_sign{index}"))
        lead = behind(cuts[:2], ~fp8, "not_fp8")
        offset = behind(cuts[1:2], ~wide, "narrow") if self.widths.half_offset >> 8 else None
        self._exponents(m, third, sides_a, sides_b, lead, offset)
        # Lane k's sign is bit 16 * k of all words' bits.
        m.d.comb += output.sign.eq(Cat(Cat(*signs)[::PLACE]))
        if self.widths.multiplied_integer:
            for index in range(WORDS // 2):
                for name in "ab":
                    odd = (getattr(self.input, name).word_select(index, 64) >> 8) & every_place(0xFF)
                    late = behind(cuts, odd, f"byte_{name}{index}")
                    m.d.comb += getattr(output, f"byte_{name}")[index].eq(late)

    def _late(self, first: Cut, fp8: Value, e5m2: Value, side: str) -> tuple[Value | None, Value | None]:
        """Whether elements are small, and whether with two fraction bits, behind the first cut."""
        small, _ = small_elements(self.config, self.input.operation, side)
        if small is None:
            return None, None
        return first(fp8 & small, f"{side}_small"), first(e5m2, f"{side}_e5m2")

    def _raw(self, m: Module, cut: Cut, word: Value, lanes: range, kinds: _Kinds, name: str) -> list[Value]:
        """The first cut: 16 bits a lane and a tf32's three lowest fraction bits, zero where unused."""
        tf32 = kinds.tf32
        profile = self.config.profile
        ordinary = Cat(
            Const(-1 if lane < profile.half_block or self.widths.integer else 0, PLACE) for lane in lanes
        )
        byte: Value = Const(0, 64)
        if self.widths.fp8:
            whole = whole_containers(word, kinds.small, kinds.e2m1, first=8)
            e4m3 = whole & every_place(0xC000) | (whole >> 1) & every_place(0x1F80)
            byte = common(m, Mux(kinds.e5m2, whole & every_place(0xFF00), e4m3))
        half = Mux(kinds.fp8, byte, word & ordinary) if self.widths.fp8 else word & ordinary
        if "tf32" not in self.config.formats:
            return [cut(half, f"{name}_raw"), Const(0, 64)]
        decodes_tf32 = [lane % 2 == 1 and lane < 2 * self.config.tf32_products for lane in lanes]
        kept = Cat(Const(-1 if decodes else 0, PLACE) for decodes in decodes_tf32)
        raw = cut(Mux(tf32, word & kept, half), f"{name}_raw")
        if not any(decodes_tf32):
            return [raw, Const(0, 64)]
        # The three highest bits of the even lane below.
        lowest = Cat(Const(7 if decodes else 0, PLACE) for decodes in decodes_tf32)
        return [raw, cut(Mux(tf32, up(word, 3) & lowest, 0), f"{name}_extension")]

    def _operands(
        self, m: Module, cuts: tuple[Cut, ...], word: Value, index: int, kinds: _Kinds, side: str
    ) -> _Operands:
        """Four multiplicands, behind the second cut."""
        name = f"{side}{index}"
        first, second, _ = cuts
        raw, extension = self._raw(m, first, word, range(4 * index, 4 * index + 4), kinds, name)
        hidden, fraction, maximal = self._classes(m, raw, extension, kinds)
        exponent = self._exponent(raw, hidden, kinds)
        if side == "a":
            exponent |= spread(~kinds.wide, self.widths.half_offset & 0xFF)
        return _Operands(
            significand=second(self._significand(raw, extension, hidden, kinds), f"{name}_significand"),
            exponent=second(exponent, f"{name}_exponent"),
            sign=second(flags(raw >> 15), f"{name}_sign"),
            maximal=second(maximal, f"{name}_maximal"),
            fraction=second(fraction, f"{name}_fraction"),
            zero=second(flags(~(fraction | hidden)), f"{name}_zero"),
        )

    def _classes(self, m: Module, raw: Value, extension: Value, kinds: _Kinds) -> tuple[Value, Value, Value]:
        """Flags: whether there is a hidden bit, a fraction other than zero, the exponent of infinity and NaN.

        Three bits below the exponent of the narrow formats belong to the exponent of the wide ones.
        """
        is_wide, is_narrow = spread(kinds.wide), spread(~kinds.wide)
        is_e4m3 = spread(kinds.e4m3) if self.widths.fp8 else Const(0, 64)
        high, between = raw >> 10, raw >> 7
        any_between = common(m, flags(between | between >> 1 | between >> 2))
        all_between = between & between >> 1 & between >> 2
        hidden = flags(high | high >> 1 | high >> 2 | high >> 3 | high >> 4) | (is_wide & any_between)
        hidden = common(m, hidden)
        pairs = common(m, raw | raw >> 1)
        fraction = pairs | pairs >> 2 | pairs >> 4 | raw >> 6
        fraction |= extension | extension >> 1 | extension >> 2
        fraction = flags(fraction) | (is_narrow & any_between)
        # The only NaN of e4m3 has all ones in the fraction, too.
        maximal = high & high >> 1 & high >> 2 & (high >> 3 | is_e4m3) & high >> 4
        maximal = flags(maximal & (is_narrow & ~is_e4m3 | all_between))
        return hidden, fraction, common(m, maximal)

    def _significand(self, raw: Value, extension: Value, hidden: Value, kinds: _Kinds) -> Value:
        """The fraction below its hidden bit; a wide one begins three bits lower, where a tf32's ends."""
        wide = spread(kinds.wide, 0x3F8) & up(raw, 3) | extension
        return wide | spread(~kinds.wide, 0x3FF) & raw | up(hidden, 10)

    def _exponent(self, raw: Value, hidden: Value, kinds: _Kinds) -> Value:
        """The biased exponent, 1 of a subnormal; bit 3 of e4m3 is the inverse of its highest bit."""
        exponent = spread(kinds.wide, 0xFF) & raw >> 7 | spread(~kinds.wide, 0x1F) & raw >> 10
        if self.widths.fp8:
            exponent |= ~(raw >> 11) & spread(kinds.e4m3) & every_place(8)
        if kinds.late_small is not None and kinds.late_e5m2 is not None:
            exponent = Mux(kinds.late_small, small_exponent(raw, kinds.late_e5m2, 10, 10), exponent)
        return exponent | flags(~hidden)

    def _exponents(
        self,
        m: Module,
        cut: Cut,
        a: list[_Operands],
        b: list[_Operands],
        lead: Value,
        offset: Value | None,
    ) -> None:
        """Exponents of products; `offset` is added at the top bit, if the narrow formats have one there."""
        exponents_a, exponents_b = (places([operands.exponent for operands in side], 8) for side in (a, b))
        # The exponent of an infinity or a NaN does not matter, so it may be one more.
        carries = places([operands.maximal for operands in a], 1)
        if self.widths.exponent_lead:
            carries = [lead] * LANES
        totals = sums(m, exponents_a, exponents_b, carries)
        zeros = places([common(m, x.zero | y.zero) for x, y in zip(a, b, strict=True)], 1)
        if offset is not None:
            totals = [Cat(total[:-1], total[-1] | offset) for total in totals]
        for lane, (total, zero) in enumerate(zip(totals, zeros, strict=True)):
            exponent = cut(Mux(zero, 0, total), f"exponent{lane}")
            m.d.comb += self.output.product_exponent[lane].eq(exponent)
