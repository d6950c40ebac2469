"""Registers of a warp: what fits, and which content gives way."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from sim.replay.register_file import NEVER, RegisterFile

SIZES = st.sampled_from([1, 2, 4, 8])


@settings(max_examples=60, deadline=None)
@example(unit=4, before=[4], sizes=[8, 8, 8, 8])
@given(unit=st.sampled_from([1, 4]), before=st.lists(SIZES, max_size=8), sizes=st.lists(SIZES, min_size=4))
def test_four_fragments_fit_whatever_lay_there_before(unit, before, sizes):
    file, held = RegisterFile(32, unit), []
    for number, size in enumerate(before):
        file.take(("before", number), size, ())
    for number, size in enumerate(sizes[:4]):
        held.append(file.take(number, size, held))
    taken = [register for item in held for register in range(item.first, item.first + item.count)]
    assert len(set(taken)) == len(taken)
    assert max(taken) < 32


def test_the_content_that_is_used_again_latest_gives_way():
    file = RegisterFile(32, 1)
    for name, next_use in (("a", 5), ("b", 9), ("c", 7), ("d", 8)):
        file.take(name, 8, ()).next_use = next_use
    assert file.take("e", 8, ()).first == 8
    assert [file.find(name) is None for name in "abcd"] == [False, True, False, False]
    assert file.take("f", 8, [file.find("e")]).next_use == NEVER
    assert file.find("d") is None
