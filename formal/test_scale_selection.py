"""The choice of scales: for every register and legal selector the bytes that golden names, for each group."""

from dataclasses import replace
from types import ModuleType

import pytest
from amaranth.hdl import Cat

from formal.claims import Claim, implies
from formal.faults import faulty
from formal.runner import Counterexample, Flushed, prove
from golden.tables.instruction_set import SCALE_VECS
from golden.tables.profiles import PROFILES
from golden.tables.scales import BYTE_IDS, THREAD_IDS, scale_lane
from hdl.config import PRESETS, DotProductConfig
from hdl.multiply.tile import scales

pytestmark = pytest.mark.formal

CONFIG = replace(PRESETS["tiny"], dot_product=DotProductConfig(profile=PROFILES["blackwell"]), mxf4=True)
GROUPS = 4


def choice(hdl: ModuleType = scales) -> Claim:
    """From a quad of a scale register to the scales of its rows of A and its column of B."""
    claim = Claim()
    quad = claim.chosen(128, "quad")
    request = claim.chosen(scales.ScaleRequest, "request")
    vec = claim.chosen(2, "vec")
    for use in "ab":
        found = hdl.scales_of_quad(claim.module, f"scale_{use}", CONFIG, request, vec, quad)
        legal = hdl.are_legal(vec, request.byte, request.thread, f"scale_{use}")
        for code, name in enumerate(SCALE_VECS, 1):
            for byte, thread in ((byte, thread) for byte in range(4) for thread in range(4)):
                is_this = (vec == code) & (request.byte == byte) & (request.thread == thread)
                allowed = byte in BYTE_IDS[name] and thread in THREAD_IDS[use]
                claim.always(f"legal_{use}_{name}_{byte}_{thread}", implies(is_this, legal == allowed))
                for block, given in enumerate(found) if allowed else ():
                    lane = scale_lane(use, 8 * block, thread)
                    word = quad.word_select(lane, 32)
                    # A scale for all k is the lowest byte alone.
                    groups = range(1 if name == "1X" else GROUPS)
                    places = [byte + group * (1 << code) // (2 * GROUPS) for group in groups]
                    wanted = [word.word_select(place, 8) for place in places]
                    label = f"{use}_{name}_{byte}_{thread}_{block}"
                    claim.always(label, implies(is_this, given[: 8 * len(groups)] == Cat(wanted)))
    return claim


def test_choice() -> None:
    prove("scale_selection", choice(), Flushed(1))


def test_faulty_choice() -> None:
    """The second half of k takes the bytes of the first."""
    broken = faulty(scales, "second = Mux(request.byte[1], whole[3], whole[1])", "second = first")
    with pytest.raises(Counterexample, match=r"broken: \w_2X"):
        prove("faulty_scale_selection", choice(broken), Flushed(1))
