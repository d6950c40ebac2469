"""Random partitions of warps, branches and loops against lanes that run alone, one collective at a time."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from one_lane import EXCHANGES, VARIABLES, Change, Exchange, Leave, Reference, Sides, Split, ptx

from golden.simt import Module

VARIABLE = st.integers(0, VARIABLES - 1)
EXCHANGE = st.builds(Exchange, st.sampled_from(sorted(EXCHANGES)), VARIABLE, VARIABLE)
STATEMENT = st.one_of(
    EXCHANGE,
    EXCHANGE,
    st.builds(Sides, st.integers(0, 4), EXCHANGE),
    st.builds(Change, VARIABLE, st.integers(1, 9)),
    st.builds(Leave, VARIABLE),
)
PROGRAM = st.lists(
    st.recursive(
        STATEMENT,
        lambda inner: st.builds(Split, VARIABLE, st.lists(inner, min_size=1, max_size=4).map(tuple)),
        max_leaves=8,
    ),
    min_size=1,
    max_size=5,
).map(tuple)


@settings(max_examples=60)
@given(PROGRAM, st.sampled_from([32, 45, 64]), st.integers(0, 1 << 30))
def test_collectives_are_as_if_executed_one_at_a_time(program, threads, seed):
    out = np.zeros((threads, VARIABLES), np.uint32)
    result = Module(ptx(program)).kernel().launch(1, threads, [out], limit=10**7, check=True)
    assert out.tolist() == Reference(program, threads, seed).run()
    assert not result.reports


def test_the_reference_does_not_depend_on_the_order():
    body = (Exchange("ballot", 1, 2), Sides(2, Exchange("idx", 2, 1)), Split(2, (Exchange("add.u32", 0, 1),)))
    program = (Change(1, 3), Split(0, body), Exchange("xor.b32", 1, 1))
    runs = [Reference(program, 45, seed).run() for seed in range(4)]
    assert all(found == runs[0] for found in runs)
