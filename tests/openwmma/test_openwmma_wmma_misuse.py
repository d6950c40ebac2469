"""What CUDA's compiler or documentation rules out: refused with the offending value and the rule."""

import re
from contextlib import suppress
from itertools import product

import numpy as np
import pytest
from wmma_misuses import ELEMENTS, FLOAT, FRAGMENTS, HALF, MEMORY, MULTIPLIES, a, c, made
from wmma_tiles import TYPES

from openwmma import wmma


@pytest.mark.parametrize(
    ("use", "message"),
    [
        pytest.param(*case, id=name)
        for table in (FRAGMENTS, MULTIPLIES, MEMORY, ELEMENTS)
        for name, case in table.items()
    ],
)
def test_misuse_is_refused_with_the_rule(use, message):
    with wmma.warp(), pytest.raises(wmma.Misuse, match=re.escape(message)):
        use()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on": "silicon"}, "warp: on='silicon'; a warp runs on one of golden, rtl, board, lockstep"),
        ({"preset": "huge"}, "warp: preset='huge'; the presets are tiny, small, standard, large"),
        ({"memory_bytes": 100}, "warp: memory_bytes=100; it must be a positive multiple of 4096"),
        ({"strict": "yes"}, "warp: strict='yes'; strict is True or False"),
        ({"profile": "kepler"}, "kepler"),
        ({"config": {"registers": 33}}, "33"),
        ({"on": "board"}, "--on board: expected --port"),
    ],
)
def test_options_that_no_warp_has(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        wmma.warp(**options)


@pytest.mark.parametrize(
    "use",
    [
        lambda held: wmma.fragment(wmma.accumulator, 16, 16, 16, float),
        lambda held: wmma.fill_fragment(held, 0.0),
        lambda held: wmma.load_matrix_sync(held, FLOAT, layout=wmma.mem_row_major),
        lambda held: wmma.store_matrix_sync(FLOAT, held, wmma.mem_row_major),
        lambda held: wmma.mma_sync(held, held, held, held),
        lambda held: wmma.bmma_sync(held, held, held, held),
        lambda held: setattr(held, "x", 0),
    ],
)
def test_use_outside_a_warp(use):
    with wmma.warp():
        held = c()
    with pytest.raises(wmma.Misuse, match=r"outside a warp; all threads of a warp execute it: use it inside"):
        use(held)


def test_a_warp_is_entered_once():
    with wmma.warp() as warp:
        pass
    with pytest.raises(wmma.Misuse, match="entered a second time; make a new warp"), warp:
        pass
    with pytest.raises(wmma.Misuse, match="it is not open"):
        warp.machine.read_registers()


@pytest.mark.parametrize(
    ("make", "presets"),
    [
        (lambda: a(wmma.bfloat16), "small, standard, large"),
        (lambda: c(wmma.double, (8, 8, 4)), "small, standard, large"),
        (lambda: c(int), "small, standard, large"),
    ],
)
def test_a_core_without_the_type(make, presets):
    with (
        wmma.warp(preset="tiny"),
        pytest.raises(
            wmma.Misuse, match=f"the core tiny has no multiply with it; presets that have: {presets}"
        ),
    ):
        make()


def test_a_warp_that_has_not_begun():
    with pytest.raises(wmma.Misuse, match="it is not open; use it inside"):
        wmma.warp().ptx()


def test_registers_are_gone_after_an_error():
    warp = wmma.warp()
    with suppress(KeyError), warp:
        held = c(fill=False)
        wmma.fill_fragment(held, 1.0)
        raise KeyError
    with pytest.raises(wmma.Misuse, match="registers of a warp that ended with an error"):
        held.matrix()
    assert warp.counters.instructions == 1
    with pytest.raises(wmma.Misuse, match="outside a warp"):
        c()


def test_what_is_legal_is_what_the_header_declares():
    """`mma.h` of CUDA 12.9 has 75 specialisations of `fragment` and 95 overloads of the multiplies."""
    shapes = [
        (16, 16, 16),
        (8, 32, 16),
        (32, 8, 16),
        (16, 16, 8),
        (8, 8, 4),
        (8, 8, 32),
        (8, 8, 128),
        (8, 8, 16),
    ]
    layouts = (None, wmma.row_major, wmma.col_major)
    overloads = fragments = 0
    with wmma.warp():
        for shape in shapes:
            held = {use: [] for use in (wmma.matrix_a, wmma.matrix_b, wmma.accumulator)}
            for use, element, layout in product(held, TYPES.values(), layouts):
                with suppress(wmma.Misuse):
                    held[use].append(made(wmma.fragment(use, *shape, element, layout), fill=True))
            fragments += sum(map(len, held.values()))
            parts = (held[wmma.accumulator], held[wmma.matrix_a], held[wmma.matrix_b], held[wmma.accumulator])
            for operands, multiply in product(product(*parts), (wmma.mma_sync, wmma.bmma_sync)):
                with suppress(wmma.Misuse):
                    multiply(*operands)
                    overloads += 1
    assert (fragments, overloads) == (75, 95)


def test_a_refused_call_changes_nothing():
    d = np.zeros((16, 16), np.float32)
    with wmma.warp() as warp:
        held = c(fill=False)
        wmma.fill_fragment(held, 4.0)
        for refused in (
            lambda: wmma.load_matrix_sync(held, HALF, layout=wmma.mem_row_major),
            lambda: wmma.fill_fragment(held, ""),
        ):
            with pytest.raises(wmma.Misuse):
                refused()
        wmma.store_matrix_sync(d, held, wmma.mem_row_major)
        assert warp.counters.instructions == 2
    assert (d == 4).all()
