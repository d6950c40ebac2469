"""Cycle counts are a contract: none moves by more than 1 % unless `bench/data/cycles.json` moves with it."""

import pytest

from bench.cycles import CORES, cycles, recorded

FAST = ("tiny", "small", "standard")


@pytest.mark.parametrize(
    "core", [pytest.param(name, marks=() if name in FAST else pytest.mark.long) for name in CORES]
)
def test_cycles_are_those_recorded(core: str) -> None:
    expected = recorded()[core]
    found = cycles(core)
    assert found.keys() == expected.keys()
    moved = {
        name: (found[name], expected[name])
        for name in found
        if abs(found[name] - expected[name]) > 0.01 * expected[name]
    }
    assert not moved, f'cycles found and recorded: {moved}; record them with python -m bench.cycles "{core}"'
