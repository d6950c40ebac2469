"""The dot-product unit in WebAssembly: the chip's results, and in every stage what golden says."""

import random

import pytest
from captured_products import captured_products
from hardware_in_wasm import UnitInWasm

from answers.unit_operations import answer, unit_operations
from golden.tables.formats import FORMATS, FloatFormat
from openwmma.usage_error import UsageError

pytestmark = pytest.mark.browser

F16 = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"


@pytest.fixture(scope="module")
def unit():
    return UnitInWasm()


def operations_of(unit, product):
    """Those of a captured element, or None where the unit has no such multipliers."""
    a, b = product.a[product.i], product.b[:, product.j]
    c = product.c[product.i, product.j]
    try:
        return unit_operations(unit.description, str(product.instruction), a, b, c)
    except UsageError:
        return None


PRODUCTS = [product for product in captured_products() if product.instruction.a_type != "f64"]


@pytest.mark.parametrize("product", PRODUCTS, ids=str)
def test_the_unit_gives_the_result_of_the_chip_and_the_signals_of_golden(unit, product):
    operations = operations_of(unit, product)
    if operations is None:
        assert FORMATS[product.instruction.a_type].bits == 8
        assert isinstance(FORMATS[product.instruction.a_type], FloatFormat)
        assert "fp8" not in unit.description["formats"]
        return
    flights = unit.run([operation["words"] for operation in operations])
    for flight, operation in zip(flights, operations, strict=True):
        assert flight.result == operation["result"]
        found = {key: flight.signals[key] for key in operation["expected"]}
        assert found == operation["expected"]
    bits = FORMATS[product.instruction.d_type].bits
    assert flights[-1].result == int(product.d[product.i, product.j]) % (1 << bits)


def test_an_operation_enters_and_leaves_in_every_cycle(unit):
    values = random.Random(22)
    operations = []
    for _ in range(40):
        row, column = ([values.uniform(-8, 8) for _ in range(16)] for _ in range(2))
        operations += unit_operations(unit.description, F16, row, column, values.uniform(-64, 64))
    flights = unit.run([operation["words"] for operation in operations])
    assert [flight.accepted for flight in flights] == list(range(40))
    latency = unit.description["latency"]
    assert [flight.left - flight.accepted for flight in flights] == [latency] * 40
    assert [flight.result for flight in flights] == [operation["result"] for operation in operations]


def test_another_operand_shows_in_every_stage(unit):
    """The comparison can fail: what golden expects of one operation is not what another one shows."""
    first, second = (
        unit_operations(unit.description, F16, [1.5, -value] + [0.0] * 14, [3.0, 0.25] + [0.0] * 14, value)[0]
        for value in (1.0, -48.0)
    )
    shown = unit.run([first["words"]])[0].signals
    same = {key for key, expected in second["expected"].items() if shown[key] == expected}
    assert same <= {"decode.significand_a", "decode.significand_b", "normalize.negative"}


def test_the_special_values_leave_the_result_alone_to_compare(unit):
    operation = unit_operations(unit.description, F16, [float("inf")] + [1.0] * 15, [0.0] * 16, 1.0)[0]
    assert operation["special"]
    assert list(operation["expected"]) == ["round.d"]
    assert unit.run([operation["words"]])[0].result == 0x7FFFFFFF


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"a": "1, two"}, "a", "two"),
        ({"c": "1, 2"}, "c", "one value"),
        ({"instruction": "wmma.mma.sync"}, "instruction", "wmma.mma.sync"),
        (
            {"instruction": "wmma.mma.sync.aligned.row.col.m8n8k4.rn.f64.f64.f64.f64"},
            "instruction",
            "the unit of this page multiplies",
        ),
    ],
)
def test_bad_input_is_refused_in_its_place(unit, change, field, words):
    question = {"instruction": F16, "a": "1", "b": "1", "c": "0", "description": unit.description, **change}
    (error,) = answer(question)["errors"]
    assert error["field"] == field
    assert words in error["message"]
