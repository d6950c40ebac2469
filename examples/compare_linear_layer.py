"""Does a GPU's linear layer equal the arithmetic? Compares saved tensors, y = x @ w.T, in every bit.

On the machine with the GPU, save them (torch is not needed here):

    numpy.save("x.npy", x.view(torch.int16).cpu().numpy().view("uint16"))    # bf16 and f16: raw bits

and then

    python examples/compare_linear_layer.py x.npy w.npy y.npy --type bf16
"""

import argparse
from fractions import Fraction

import numpy as np

from golden.approximation.exact import value_of
from golden.tables.formats import float_format
from openwmma import match_matmul


def exact_value(row, column, type_):
    """The sum of the products without any rounding."""
    format = float_format(type_)
    total = Fraction(0)
    for x, y in zip(row.tolist(), column.tolist(), strict=True):
        factors = value_of(x, format), value_of(y, format)
        if None in factors:
            return "not finite"
        total += factors[0] * factors[1]
    return repr(float(total))


def main():
    """Read the arrays, compare, report."""
    parser = argparse.ArgumentParser(
        description="Compare a linear layer with the arithmetic of a Hopper GPU."
    )
    parser.add_argument("x", help=".npy of raw bits, shape (rows, k)")
    parser.add_argument("weight", help=".npy of raw bits, shape (columns, k)")
    parser.add_argument("y", help=".npy of raw bits, shape (rows, columns)")
    parser.add_argument("--type", default="bf16", choices=("bf16", "f16"))
    options = parser.parse_args()
    x, weight, y = (np.load(path) for path in (options.x, options.weight, options.y))
    found = match_matmul(x, weight.T, y, a_type=options.type, b_type=options.type)
    print(found)
    for difference in found.differences:
        row, column = difference.row, difference.column
        print(f"exact sum at row {row}, column {column}: {exact_value(x[row], weight[column], options.type)}")
    return 0 if found else 1


if __name__ == "__main__":
    raise SystemExit(main())
