"""Decode fp8: bytes to signs, exponents and significands."""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Value

from hdl.config import DotProductConfig
from hdl.dot_product.adders import sums
from hdl.dot_product.fields import DotProductStage
from hdl.dot_product.widths import FP8_SIGNIFICAND_BITS
from hdl.dot_product.words import PLACE, WORDS, common, every_place, flags, places, spread, up
from hdl.stream.pipeline import Cut


@dataclass(frozen=True)
class _Operands:
    """Words of four multiplicands, behind the first cut but for the sign.

    An infinity or a NaN has both `maximal` and `special`: all bits of the exponent but the lowest one that
    both formats share, and what the bits below make of that. A NaN also has a fraction.
    """

    significand: Value
    exponent: Value
    sign: Value
    zero: Value
    maximal: Value
    special: Value

    @property
    def nan(self) -> Value:
        """Flags."""
        return self.maximal & self.special & flags(self.significand >> 2 | self.significand >> 1)


def small_elements(config: DotProductConfig, operation: Any, side: str) -> tuple[Value | None, Value | None]:
    """Whether the elements of a side are smaller than 8 bits, and whether of e2m1, in operations on fp8.

    None without fp6 and fp4.
    """
    if not config.small:
        return None, None
    return operation[f"{side}_signed"], operation.saturate if side == "a" else operation.bitwise_and


def small_exponent(raw: Value, is_e3m2: Value, three: int, two: int) -> Value:
    """The exponents of small elements with e5m2's bias, in the low bits of places; of an e3m2's 0, one less.

    Twelve more than a number of three bits are the highest, twice its inverse, and the others. Fourteen more
    than one of two bits are the highest, three times its inverse, and the other one; 0 counts as 1.

    Parameters
    ----------
    raw : Value
        Words of four lanes.
    is_e3m2 : Value
        Otherwise e2m3 or e2m1.
    three, two : int
        Where the lowest bit of the exponent is in either case.
    """
    high = flags(raw >> three + 2)
    below = flags(~high)
    of_three = up(high, 4) | up(below, 3) | up(below, 2) | raw >> three & every_place(3)
    high = flags(raw >> two + 1)
    below = flags(~high)
    of_two = up(high, 4) | up(below, 3) | up(below, 2) | up(below, 1) | below | flags(raw >> two)
    return Mux(is_e3m2, of_three, of_two)


def whole_containers(word: Value, small: Value | None, e2m1: Value | None, *, first: int = 0) -> Value:
    """Words of containers of 8 bits in which smaller elements have no bits of others, and the sign on top.

    An e3m2 then has the fields of an e5m2 with the lowest three bits of its exponent, and an e2m3 the fields
    of an e4m3 with the lowest two. An e2m1 is an e2m3 with two zeros behind.

    Parameters
    ----------
    word : Value
        Words of four lanes, with a container from bit `first` of each place on.
    small, e2m1 : Value or None
        Of all of them. None if there are none.
    first : int
    """
    if small is None or e2m1 is None:
        return word
    kept = ~(spread(small, 0xE0 << first) | spread(e2m1, 0x03 << first))
    return word & kept | up(word, 2) & spread(small, 0x80 << first)


class Fp8Decode(DotProductStage):
    """Take e4m3 and e5m2 apart (Open Compute Project, "8-bit floating point specification", 2023).

    Lane k takes the elements 2 k. Where only fp8 is computed, lane 16 + k takes the elements 2 k + 1; beside
    other formats, `Decode` does.

    Both kinds come to e5m2's scale: e4m3's exponents are raised by the difference of the biases, 8. That sets
    bit 3 to the inverse of the highest bit, so it needs no adder, and makes the exponent of a subnormal 9.
    Likewise exponents of e3m2 are raised by 12, of e2m3 and e2m1 by 14 (`small_exponent`).
    Zero products get the exponent 0 and so do not raise the maximum.

    Expected critical path: hidden bit and class of an operand, three look-up tables behind the port.
    Testbench: cocotb_tests/dot_product/test_fp8_decode.py; together with `Fp8Special`.

    Members
    -------
    input.c : 32
        For its sign.
    output.fp8_significand_a, output.fp8_significand_b : `Widths.fp8_lanes` x 4
        Fixed point with 3 fraction bits.
    output.fp8_exponent : `Widths.fp8_lanes` x 6
        Of the products, biased by 30 and `Widths.exponent_lead`.
    output.fp8_sign : `Widths.fp8_lanes`
        Of the products, relative to the sign of C.
    output.fp8_zero, output.fp8_infinite : words of four lanes
        Whether a factor is zero or infinite; a NaN may count as infinite, too. In other formats,
        none is infinite.
    output.fp8_nan : words of four lanes
        Whether a factor is NaN; without meaning in other formats.
    """

    delays = (3.5, 3.0)
    input_fields = "a b operation c"
    output_fields = "fp8_significand_a fp8_significand_b fp8_exponent fp8_sign fp8_zero fp8_infinite fp8_nan"

    def _logic(self, m: Module, first: Cut, second: Cut) -> None:
        given, output = self.input, self.output
        operation = given.operation
        fp8 = first(self.widths.chosen(operation.multiplicand, frozenset({"fp8"})), "fp8")
        c_sign = Mux(operation.c_is_f16, given.c[15], given.c[31])
        signs, nans, zeros, zeros_a = [], [], [], []
        exponents: dict[str, list[Value]] = {"a": [], "b": []}
        significands: dict[str, list[Value]] = {"a": [], "b": []}
        for index in range(len(output.fp8_zero)):
            shift = PLACE // 2 * (index // WORDS)
            a, b = (
                self._operands(
                    m,
                    first,
                    common(m, (word.word_select(index % WORDS, 64) >> shift) & every_place(0xFF)),
                    name,
                    f"{name}{index}",
                )
                for word, name in ((given.a, "a"), (given.b, "b"))
            )
            zero = common(m, a.zero | b.zero)
            # Where an operand is NaN, it does not matter that it also counts as an infinity.
            infinite = Mux(fp8, a.maximal & a.special | b.maximal & b.special, 0)
            m.d.comb += [
                output.fp8_zero[index].eq(second(zero, f"zero{index}")),
                output.fp8_infinite[index].eq(second(infinite, f"infinite{index}")),
            ]
            for side, operands in zip("ab", (a, b), strict=True):
                exponents[side].append(operands.exponent)
                significands[side].append(second(operands.significand, f"{side}{index}_late"))
            zeros_a.append(a.zero)
            zeros.append(zero)
            signs.append(first(a.sign ^ b.sign ^ flags(spread(c_sign)), f"sign{index}"))
            nans.append(a.nan | b.nan)
        # The exponent of a zero does not matter, so it may be one more or less.
        carries = [zero ^ self.widths.exponent_lead for zero in places(zeros_a, 1)]
        totals = sums(m, places(exponents["a"], 5), places(exponents["b"], 5), carries)
        for lane, (total, zero) in enumerate(zip(totals, places(zeros, 1), strict=True)):
            exponent = second(Mux(zero | ~fp8, 0, total), f"exponent{lane}")
            m.d.comb += output.fp8_exponent[lane].eq(exponent)
        for side, target in (("a", output.fp8_significand_a), ("b", output.fp8_significand_b)):
            values = places(significands[side], FP8_SIGNIFICAND_BITS)
            m.d.comb += [target[lane].eq(value) for lane, value in enumerate(values)]
        late_signs = [second(sign, f"product_sign{index}") for index, sign in enumerate(signs)]
        m.d.comb += output.fp8_sign.eq(Cat(word[::PLACE] for word in late_signs))
        for index, nan in enumerate(nans):
            m.d.comb += output.fp8_nan[index].eq(second(nan, f"nan{index}"))

    def _operands(self, m: Module, cut: Cut, raw: Value, side: str, name: str) -> _Operands:
        is_e5m2 = self.input.operation[f"{side}_e5m2"]
        small, e2m1 = small_elements(self.config, self.input.operation, side)
        if small is not None:
            raw = common(m, whole_containers(raw, small, e2m1))
        e5m2 = spread(is_e5m2)
        upper_zero = common(m, flags(~(raw >> 6 | raw >> 5 | raw >> 4 | raw >> 3)))
        hidden = flags(~upper_zero | (raw >> 2 & e5m2))
        exponent = (
            raw >> 2 & spread(is_e5m2, 0x1F)
            | raw >> 3 & spread(~is_e5m2, 0x07)
            | raw >> 2 & every_place(0x10)
            | ~raw >> 3 & spread(~is_e5m2, 0x08)
            | upper_zero
        )
        if small is not None:
            narrow = small_exponent(raw, is_e5m2, 2, 3) | upper_zero & e5m2
            exponent = Mux(small, narrow, exponent)
        significand = up(raw, 1) & spread(is_e5m2, 6) | raw & spread(~is_e5m2, 6) | up(hidden, 3)
        lowest = Mux(is_e5m2, 0, flags(raw))
        upper_ones = flags(raw >> 6 & raw >> 5 & raw >> 4 & raw >> 3)
        return _Operands(
            significand=cut(significand, f"{name}_significand") | cut(lowest, f"{name}_lowest"),
            exponent=cut(exponent, f"{name}_exponent"),
            sign=flags(raw >> 7),
            zero=cut(upper_zero & ~(raw >> 2 | raw >> 1 | raw), f"{name}_zero"),
            maximal=cut(upper_ones, f"{name}_maximal"),
            special=cut(flags(raw >> 2 & (e5m2 | raw >> 1 & raw)), f"{name}_special"),
        )
