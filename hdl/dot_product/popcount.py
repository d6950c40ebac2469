"""Popcount: the dot product of single bits."""

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hdl.dot_product.fields import DotProductStage
from hdl.stream.pipeline import Cut

BITS = 128


def _schedule() -> list[list[int]]:
    """How many bits of each weight there are before each level of full adders."""
    counts, levels = [BITS], []
    while max(counts) > 2:
        levels.append(counts)
        after = [0] * (len(counts) + 1)
        for weight, count in enumerate(counts):
            after[weight] += count // 3 + count % 3
            after[weight + 1] += count // 3
        counts = after if after[-1] else after[:-1]
    return levels


class Popcount(DotProductStage):
    """Count the ones of ``a xor b`` or ``a and b`` with full adders: three bits of one weight to two.

    A Wallace tree (C. S. Wallace, "A suggestion for a fast multiplier", IEEE Transactions on Electronic
    Computers EC-13, 1964): two levels of full adders before a cut, until no weight has more than two bits;
    then one carry-propagate addition. A full adder is two look-up tables and takes one bit away, which is as
    small as an adder tree on carry chains.

    Expected critical path: two full adders.

    Members
    -------
    input.a, input.b : 256
        The low 128 bits count.
    output.count : 8
        0 unless the operation is on single bits.
    """

    delays = (0.5, 2.0, *(2.5,) * ((len(_schedule()) + 1) // 2), 3.0)
    input_fields = "a b operation"
    output_fields = "count"

    def _logic(self, m: Module, *cuts: Cut) -> None:
        first, second, *tree, last = cuts
        a, b = first(self.input.a[:BITS], "a"), first(self.input.b[:BITS], "b")
        operation = first(self.input.operation, "operation")
        combined = Mux(operation.bitwise_and, a & b, a ^ b)
        enable = self.widths.chosen(operation.multiplicand, frozenset({"b1"}))
        columns: dict[int, Value] = {0: second(Mux(enable, combined, 0), "combined")}
        levels = len(_schedule())
        for level in range(levels):
            columns = _compress(columns)
            if level % 2 or level == levels - 1:
                cut = tree[level // 2]
                columns = {weight: cut(bits, f"weight{weight}_{level}") for weight, bits in columns.items()}
        rows = [
            Cat(*(bits[row] if row < len(bits) else Const(0, 1) for _, bits in sorted(columns.items())))
            for row in range(2)
        ]
        m.d.comb += self.output.count.eq(last((rows[0] + rows[1])[:8], "count"))


def _compress(columns: dict[int, Value]) -> dict[int, Value]:
    """One level of full adders, side by side as bits of wide words."""
    parts: dict[int, list[Value]] = {}
    for weight, bits in columns.items():
        third = len(bits) // 3
        if third:
            x, y, z = (bits[part * third : (part + 1) * third] for part in range(3))
            parts.setdefault(weight, []).append(x ^ y ^ z)
            parts.setdefault(weight + 1, []).append((x & y) | (x & z) | (y & z))
        if len(bits) % 3:
            parts.setdefault(weight, []).append(bits[3 * third :])
    return {weight: Cat(*values) for weight, values in sorted(parts.items())}
