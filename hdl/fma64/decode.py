"""Decode: raw operands to factors, addend, distance and sign; special values become an addend."""

from amaranth.hdl import Cat, Const, Module, Mux, Value, signed

from hdl.fma64.fields import Fma64Stage
from hdl.fma64.widths import DISTANCE_BITS, FRACTION, NAN_PRODUCT_EXPONENT, PRODUCT_OFFSET, SPECIAL_EXPONENT
from hdl.stream.pipeline import Cut


class Decode(Fma64Stage):
    """Take the operands apart (IEEE 754-2019, 3.4), and settle invalid operations and NaN (6 and 7.2).

    Special values take the same way as numbers, so that nothing after this stage has to select one. An
    infinite or canonical result, or an accumulator that is NaN, is made the addend, and the product zero. A
    factor that is NaN is multiplied by 1, added to 0, and the product's exponent is made such that the
    result's comes out as a NaN's. The replacements are synchronous resets and sets of registers and take no
    look-up tables, for which a register's initial value, though nothing depends on it, has to be the value
    it is set to. A zero product leaves the addend at distance 0, however large the exponents of its
    factors.

    The first cut only takes the operands in. Expected critical path: the OR of 52 fraction bits.

    Members
    -------
    output.factor_a, output.factor_b : 53
        Significands; zero if the product is to vanish.
    output.addend : 53
        Significand.
    output.addend_exponent : 11
        Biased; 1 for subnormals and zero.
    output.product_exponent : signed(13)
        The biased exponent that the top bit of the upper window has by the product.
    output.distance : signed(13)
        `product_exponent` less the addend's.
    output.no_product : 1
        The product is zero: `distance` and `product_exponent` mean nothing.
    output.product_sign : 1
    output.subtract : 1
        The addend has the other sign.
    output.special : 1
        The addend is the result, an infinity or a NaN.
    """

    delays = (0.5, 3.0, 4.0, 3.5)
    input_fields = "a b c"
    output_fields = (
        "factor_a factor_b addend addend_exponent product_exponent distance no_product product_sign "
        "subtract special"
    )

    def _logic(self, m: Module, first: Cut, second: Cut, third: Cut, last: Cut) -> None:
        # Take in.
        raw = {name: first(getattr(self.input, name), f"{name}_1") for name in "abc"}

        # The class of each operand.
        fraction = {name: second(raw[name][:FRACTION], f"{name}_fraction") for name in "abc"}
        sign = {name: second(raw[name][-1], f"{name}_sign") for name in "abc"}
        low, ones, empty = {}, {}, {}
        for name, value in raw.items():
            exponent = value[FRACTION:-1]
            low[name] = second(~exponent.any(), f"{name}_low")
            ones[name] = second(exponent.all(), f"{name}_ones")
            empty[name] = second(~value[:FRACTION].any(), f"{name}_empty")
        exponents = second(raw["a"][FRACTION:-1] + raw["b"][FRACTION:-1], "exponents")
        c_exponent = second(raw["c"][FRACTION:-1], "c_exponent")

        # What the special values make of the result.
        nan = {name: ones[name] & ~empty[name] for name in "abc"}
        infinite = {name: ones[name] & empty[name] for name in "abc"}
        zero = {name: low[name] & empty[name] for name in "abc"}
        any_nan = nan["a"] | nan["b"] | nan["c"]
        sign_product = sign["a"] ^ sign["b"]
        infinite_product = infinite["a"] | infinite["b"]
        invalid = (
            (infinite["a"] & zero["b"])
            | (infinite["b"] & zero["a"])
            | (infinite_product & infinite["c"] & (sign_product ^ sign["c"]))
        )
        take_b = nan["b"]
        take_a = nan["a"] & ~nan["b"] & ~nan["c"]
        special = any_nan | infinite_product | infinite["c"]
        sign_c = Mux(nan["c"], sign["c"], Mux(infinite_product | invalid, invalid | sign_product, sign["c"]))
        sign_c, sign_product = third(sign_c, "sign_c"), third(sign_product, "sign_product")
        sign = {name: third(sign[name], f"{name}_sign_3") for name in "ab"}
        one_a, one_b = third(take_b, "one_a"), third(take_a, "one_b")
        no_product = (special & ~take_a & ~take_b) | (~special & (zero["a"] | zero["b"]))
        no_product = third(no_product, "no_product_3")
        no_factor = third(special & ~take_a, "no_factor")
        made = third(take_a | take_b | (~nan["c"] & (invalid | infinite_product)), "made")
        quiet = third(any_nan | invalid, "quiet")
        special = third(special, "special")
        # The exponent of a subnormal counts as 1.
        correction = Cat(low["a"] ^ low["b"], low["a"] & low["b"])
        product_exponent = (exponents + _offset(correction))[:DISTANCE_BITS]
        product_exponent = third(
            Mux(take_a | take_b, NAN_PRODUCT_EXPONENT, product_exponent).as_signed(),
            "product_exponent",
            init=NAN_PRODUCT_EXPONENT,
        )
        c_exponent = third(Cat(c_exponent[0] | low["c"], c_exponent[1:]), "c_exponent_3")
        fraction = {name: third(fraction[name], f"{name}_fraction_3") for name in "abc"}
        hidden = {name: third(~low[name], f"{name}_hidden") for name in "abc"}

        # Factors, addend, and how far it is from the product.
        whole = {name: Cat(fraction[name][:-1], fraction[name][-1] | quiet, hidden[name]) for name in "abc"}
        none = one_a | one_b
        # The operand that is NaN gives its sign.
        sign_c = Mux(one_a, sign["b"], Mux(one_b, sign["a"], sign_c))
        factor_a = Mux(no_factor, Cat(Const(0, FRACTION), one_a), whole["a"])
        factor_b = Mux(one_b, 1 << FRACTION, whole["b"])
        addend = Mux(made, Cat(Const(0, FRACTION - 1), quiet & ~none, ~none), whole["c"])
        addend_exponent = Mux(special, SPECIAL_EXPONENT, c_exponent)
        distance = (product_exponent - c_exponent)[:DISTANCE_BITS]
        output = self.output
        m.d.comb += [
            output.factor_a.eq(last(factor_a, "factor_a")),
            output.factor_b.eq(last(factor_b, "factor_b", init=1 << FRACTION)),
            output.addend.eq(last(addend, "addend")),
            output.addend_exponent.eq(last(addend_exponent, "addend_exponent", init=SPECIAL_EXPONENT)),
            output.product_exponent.eq(last(product_exponent, "product_exponent_4")),
            output.distance.eq(last(distance, "distance_4")),
            output.no_product.eq(last(no_product, "no_product_4")),
            output.product_sign.eq(last(Mux(special, sign_c, sign_product), "product_sign_4")),
            output.subtract.eq(last(~special & (sign_product ^ sign_c), "subtract_4")),
            output.special.eq(last(special, "special_4")),
        ]


def _offset(subnormals: Value) -> Value:
    """`subnormals` - PRODUCT_OFFSET, from a table instead of an adder."""
    values = [Const(count - PRODUCT_OFFSET, signed(DISTANCE_BITS)) for count in range(3)]
    return Mux(subnormals[1], values[2], Mux(subnormals[0], values[1], values[0])).as_signed()
