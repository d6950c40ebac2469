"""Lab "A number format": the dot-product unit multiplies bf12 as golden does."""

import numpy as np
import pytest

from golden.tables.formats import float_format
from hdl.config import DotProductConfig
from hdl.dot_product.unit import DotProductUnit
from sim.testbench.bulk import BulkUnit
from sim.testbench.dot_product_operands import Mode, random_batch

OPERATIONS = 20_000
FORMATS = frozenset({"bf12", "bf16"})


@pytest.fixture(scope="module")
def unit() -> BulkUnit:
    """A unit with both formats, so that one must not disturb the other."""
    return BulkUnit(DotProductUnit(DotProductConfig(formats=FORMATS)))


def test_fields() -> None:
    """As bf16, with four ignored bits."""
    format, bf16 = float_format("bf12"), float_format("bf16")
    assert (format.bits, format.exponent_bits, format.fraction_bits, format.ignored_bits) == (16, 8, 3, 4)
    assert (format.infinity, format.bias) == (bf16.infinity, bf16.bias)


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("type", sorted(FORMATS))
def test_random_operands(unit: BulkUnit, type: str, saturate: bool) -> None:
    """Random bits, near and far exponents, cancellation, special values: every bit equal."""
    mode = Mode(a_type=type, b_type=type, c_type="f32", d_type="f32", saturate=saturate)
    batch = random_batch(mode, OPERATIONS, seed=1)
    results = unit.run(batch.pack())[:, 0]
    different = np.flatnonzero(results != batch.expected())
    assert not different.size, (
        f"{different.size} of {OPERATIONS} operations differ; the first is number {different[0]}: "
        f"a {list(map(hex, batch.a[different[0]]))}, b {list(map(hex, batch.b[different[0]]))}"
    )
