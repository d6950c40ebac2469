"""Every form of every scalar instruction that kernels accept, against unbounded integers and fractions."""

import random
from functools import cache, partial
from itertools import product

import numpy as np
import pytest
from form_model import APPROXIMATE, MODEL
from word_model import Words

from golden.scalar import SYNTAX, operation

TUPLES = 10
"""Operand tuples of each form at least; an opcode with few forms has `ALTOGETHER`."""
ALTOGETHER = 800
CORNERS = {
    bits: [int(word, 16) for word in text.split()]
    for bits, text in {
        8: "0 80 96 ff",
        16: "0 1 7f 80 ff 3c00 3f80 3ff 400 7bff 7c00 7e00 7f80 7fc0 7fff 8000 8001 bc00 bf80 fc00 ffff",
        32: "0 1 2 7 1f 20 21 7f 80 ff 7fff 8000 ffff 7fffff 800000 7fffffff 80000000 80000001 fffffffe "
        "ffffffff 3f800000 bf800001 7f7fffff 7f800000 7fc00000 ff800000 4f000000 5f000000 cf000000 "
        "3c003c00 bc007c00 7e0003ff",
        64: "0 1 ff ffffffff 80000000 100000000 7fffffffffffffff 8000000000000000 ffffffffffffffff "
        "3ff0000000000000 bff0000000000001 7fefffffffffffff 7ff0000000000000 7ff8000000000000 "
        "fff0000000000000 10000000000000 43e0000000000000",
    }.items()
}
SCALAR_PARTS = ("", "b0", "b1", "b2", "b3", "h0", "h1")
MASKS = {
    2: ("", "h0", "h1", "h10"),
    4: ("", *("b" + "".join(str(i) for i in (3, 2, 1, 0) if mask >> i & 1) for mask in range(1, 16))),
}


def mnemonics(form):
    """Every mnemonic that a line of syntax describes."""
    groups = []
    for group in form.syntax.split()[1:]:
        words = group.rstrip("?").split("|")
        groups.append([*words, ""] if group.endswith("?") else words)
    return ["".join((form.opcode, *chosen)) for chosen in product(*groups)]


@cache
def modelled(opcode):
    """The mnemonics of an opcode that exist, each with whether it has two predicates and takes parts."""
    found = {}
    for form in SYNTAX[opcode]:
        for name in mnemonics(form):
            if form.operation(name) is not None and not set(APPROXIMATE) & set(name.split(".")):
                found[name, form.pair] = form.selects
    return found


def operand(draw, bits):
    if bits == 1:
        return draw.random() < 0.5
    corner = draw.choice(CORNERS[bits])
    return draw.choice((corner, (corner + draw.randrange(-3, 4)) % (1 << bits), draw.getrandbits(bits)))


def chosen_parts(draw, opcode, name):
    """Parts of the destination and the sources, such as may stand together."""
    count = int(opcode[-1]) if opcode[-1].isdigit() else 0
    if count:
        selector = "hb"[count == 4] + "{}" * count
        selectors = [selector.format(*(draw.randrange(2 * count) for _ in range(count))) for _ in range(2)]
        return (draw.choice(MASKS[count]), *(draw.choice(("", item)) for item in selectors), "")
    parts = [draw.choice(SCALAR_PARTS) for _ in range(3)]
    if opcode == "vmad":
        signs = draw.choice((("", "", ""), ("-", "", ""), ("", "-", ""), ("-", "-", "-"), ("", "", "-")))
        signs = ("", "", "") if ".po" in name else signs
        return ("", signs[0] + parts[1], signs[1] + parts[2], signs[2])
    second = {"add", "min", "max"} & set(name.split("."))
    return ("" if second else parts[0], parts[1], parts[2], "")


def difference(name, pair, selects, tuples):
    """What the first tuple is for which a form differs from the model, or None."""
    opcode, *words = name.split(".")
    draw = random.Random(name)
    parts = chosen_parts(draw, opcode, name) if selects else ()
    found = operation(name, pair=pair, parts=parts)
    table = operand(draw, 8)
    drawn = [
        tuple(table if bits == 8 and opcode == "lop3" else operand(draw, bits) for bits in found.operands)
        for _ in range(tuples)
    ]
    arrays = [
        np.array(column, bool if bits == 1 else f"u{bits // 8}")
        for column, bits in zip(zip(*drawn, strict=True), found.operands, strict=True)
    ]
    outcome = found.evaluate(*arrays)
    columns = outcome if len(found.results) > 1 else (outcome,)
    rows = zip(*(np.broadcast_to(column, tuples).tolist() for column in columns), strict=True)
    model = partial(MODEL[opcode], pair=pair) if opcode == "setp" else MODEL[opcode]
    for operands, row in zip(drawn, rows, strict=True):
        wanted = model(Words(words), *((parts,) if selects else ()), *operands)
        if wanted is None:
            continue
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        expected = tuple(x % (1 << bits) for x, bits in zip(wanted, found.results, strict=True))
        if expected != row:
            return name, parts, [hex(x) for x in operands], [hex(x) for x in row], [hex(x) for x in expected]
    return None


@pytest.mark.parametrize("opcode", SYNTAX)
def test_every_form_agrees_with_the_model(opcode):
    forms = modelled(opcode)
    assert not forms or opcode in MODEL
    tuples = max(TUPLES, ALTOGETHER // max(len(forms), 1))
    found = [difference(name, pair, selects, tuples) for (name, pair), selects in forms.items()]
    assert [item for item in found if item is not None] == []


def test_the_model_has_no_opcode_of_its_own():
    assert {opcode for opcode in SYNTAX if modelled(opcode)} == set(MODEL)
