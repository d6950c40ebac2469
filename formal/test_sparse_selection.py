"""The selection network: exactly the elements that metadata names, for all metadata and all rows of B."""

from types import ModuleType

import pytest
from amaranth.hdl import Cat, Const, Mux, Value

from formal.claims import Claim, implies
from formal.faults import faulty
from formal.runner import Counterexample, Flushed, prove
from golden.tables.sparsity import NIBBLES, Sparsity
from hdl.multiply.tile import sparse

pytestmark = [pytest.mark.formal, pytest.mark.long]

_QUAD = 128


def network(hdl: ModuleType = sparse, byte_words: int = 1) -> Claim:
    """From the words of a row of B and nibbles to the elements that meet stored ones.

    Assumes that nibbles are defined. Elements of f16, bf16 and tf32 fill both words of a row of A, those of
    8 bits `byte_words`: integers the first one.
    """
    claim = Claim()
    row = claim.free(4 * _QUAD, "row")
    metadata = claim.free(64, "metadata")
    of_bytes = claim.free(1, "of_bytes")
    is_sparse = claim.free(1, "is_sparse")
    claim.module.submodules.selection = selection = hdl.SparseSelection((hdl.PAIRS, hdl.SINGLES)[:byte_words])
    words = [row.word_select(number, _QUAD) for number in range(4)]
    halves = [hdl.spread((words[0], words[1])), hdl.spread((words[2], words[3]))]
    codes = [
        hdl.lane_codes(
            metadata.word_select(lane, 4), metadata.word_select(lane % (4 * byte_words), 8), of_bytes
        )
        for lane in range(8)
    ]
    claim.module.d.comb += [
        selection.even.eq(Mux(is_sparse, Cat(even for even, _ in halves), row)),
        selection.odd.eq(Cat(odd for _, odd in halves)),
        selection.codes.eq(Mux(is_sparse, Cat(codes), 0)),
    ]
    nibbles = [metadata.word_select(group, 4) for group in range(16)]
    defined = Cat(Cat(nibble == each for each in NIBBLES).any() for nibble in nibbles[: 8 * byte_words])
    claim.assume("defined", defined.all())
    chosen = selection.chosen
    claim.always("dense", implies(~is_sparse, chosen == row[: 2 * _QUAD]))
    for bits, words_of_a in ((16, 2), (8, byte_words)):
        wanted = _named(Sparsity(bits, words_of_a * 2 * _QUAD // bits), row, nibbles)
        found = chosen[: words_of_a * _QUAD]
        claim.always(f"elements_{bits}", implies(is_sparse & (of_bytes == (bits == 8)), found == wanted))
    whole = _named(Sparsity(32, 16), row, nibbles)
    of_tf32 = Cat(Cat(nibble == each for each in Sparsity(32, 16).nibbles).any() for nibble in nibbles[:8])
    claim.always("elements_tf32", implies(is_sparse & ~of_bytes & of_tf32.all(), chosen == whole))
    any_nibble = claim.free(4, "any_nibble")
    wrong = [hdl.is_undefined(any_nibble, is_tf32) for is_tf32 in (Const(0), Const(1))]
    for name, flag, table in zip(
        ("undefined", "tf32"), wrong, (NIBBLES, Sparsity(32, 16).nibbles), strict=True
    ):
        claim.always(name, flag == ~Cat(any_nibble == each for each in table).any())
    return claim


def _named(sparsity: Sparsity, row: Value, nibbles: list[Value]) -> Value:
    """The elements of a row that the golden table names, for each of the nibbles that it defines."""
    elements: list[Value] = []
    for group in range(sparsity.groups):
        for index in range(sparsity.group // 2):
            element: Value = row.word_select(0, sparsity.bits) ^ row.word_select(0, sparsity.bits)
            for nibble in sparsity.nibbles:
                place = group * sparsity.group + sparsity.places(nibble)[index]
                element = Mux(nibbles[group] == nibble, row.word_select(place, sparsity.bits), element)
            elements.append(element)
    return Cat(elements)


@pytest.mark.parametrize("byte_words", [1, 2])
def test_selection(byte_words: int) -> None:
    prove(f"sparse_selection_{byte_words}", network(byte_words=byte_words), Flushed(0))


def test_faulty_selection() -> None:
    """The place of the other unit of a group."""
    broken = faulty(sparse, "4 * group + 2 * index, 2", "4 * group + 2 * (1 - index), 2")
    with pytest.raises(Counterexample, match="broken: elements"):
        prove("faulty_sparse_selection", network(broken), Flushed(0))
