"""The burst generator: its bursts have every byte of every line, and stay in their page."""

from types import ModuleType

import pytest
from amaranth.hdl import Cat, Const, Mux, Signal
from amaranth.lib import data

from formal.axi_rules import burst_in_page
from formal.claims import Claim, implies
from formal.faults import faulty
from formal.runner import Counterexample, Induction, prove
from formal.streams import offer_stays, transferred
from hdl.config import CoreConfig
from hdl.memory import burst_generator
from hdl.memory.beats import STRIDE_BITS, access_layout
from hdl.memory.fragment_geometry import log2_exact

pytestmark = [pytest.mark.formal, pytest.mark.long]

CONFIGS = {
    1: CoreConfig(address_bits=16),
    4: CoreConfig(address_bits=16, dot_product_units=16, data_bits=512),
}
"""By the quads of a beat."""


def bursts(quads: int, hdl: ModuleType = burst_generator) -> Claim:
    """`BurstGenerator`: burst by burst, each begins where the one before ended, or at its line.

    Kept beside the unit: the first byte of the line at hand, the lines left, and the byte from which on the
    line is still to be covered. Each burst begins at the beat of that byte and stays in its page; it ends at
    the end of the line, or of the page. `ends` comes with the last one of the last line. So the
    bursts have all beats of all lines, and no other beat.

    Assumes accesses as `access_layout` says: multiples of 4, 4 to 32 lines of 8 bytes or more, together not
    more than 1 KiB. Proven by induction.
    """
    claim = Claim()
    config = CONFIGS[quads]
    beat = 16 * config.beat_quads
    beat_log2 = log2_exact(beat)
    unit = hdl.BurstGenerator(config)
    inside = claim.include(unit)
    m = claim.module
    request = unit.access.payload
    geometry = request.geometry
    line_bytes = Mux(
        request.contiguous, 1 << (geometry.lines_log2 + geometry.line_log2), 1 << geometry.line_log2
    )
    claim.assume("sizes", (geometry.line_log2 >= 3) & (geometry.lines_log2 >= 2) & (geometry.lines_log2 <= 5))
    claim.assume("fragment", geometry.lines_log2 + geometry.line_log2 <= 10)
    claim.assume("words", (request.address[:2] == 0) & (request.stride[:2] == 0))
    offer_stays(claim, "access", unit.access, assumed=True)

    active = Signal(name="covering")
    line = Signal(config.address_bits, name="line_first_byte")
    size = Signal(11, name="line_size")
    covered = Signal(12, name="line_covered")
    left = Signal(6, name="lines_after")
    stride = Signal(STRIDE_BITS, name="line_stride")
    taken = transferred(unit.bursts)
    burst = unit.bursts.payload
    # Bytes of the line, counted from the beat in which it begins.
    lead = line[:beat_log2]
    extent = Signal(12, name="extent")
    beats_bytes = Signal(13, name="burst_bytes")
    reaches = Signal(13, name="covered_after")
    whole = Signal(name="line_covered_after")
    m.d.comb += [
        extent.eq((size + lead + beat - 1) >> beat_log2 << beat_log2),
        beats_bytes.eq((burst.length + 1) << beat_log2),
        reaches.eq(covered + beats_bytes),
        whole.eq(reaches >= extent),
    ]
    finished = active & taken & whole & (left == 0)
    with m.If(active & taken):
        m.d.sync += covered.eq(reaches)
        with m.If(whole):
            m.d.sync += [covered.eq(0), line.eq(line + stride), left.eq(left - 1)]
    with m.If(finished):
        m.d.sync += active.eq(0)
    with m.If(transferred(unit.access)):
        m.d.sync += [
            active.eq(1),
            line.eq(request.address),
            size.eq(line_bytes),
            covered.eq(0),
            left.eq(Mux(request.contiguous, 0, (1 << geometry.lines_log2) - 1)),
            stride.eq(request.stride),
        ]
    offer_stays(claim, "bursts", unit.bursts)
    begin = Signal(config.address_bits, name="burst_begins")
    m.d.comb += begin.eq((line >> beat_log2 << beat_log2) + covered)
    end_of_page = (begin + beats_bytes)[:12] == 0
    claim.always("valid_while_covering", unit.bursts.valid == active)
    claim.always("begins", implies(active, burst.address == begin))
    claim.always("in_page", implies(active, burst_in_page(burst, beat)))
    claim.always("no_beat_beyond", implies(active, reaches <= extent))
    claim.always("no_early_end", implies(active, whole | end_of_page))
    claim.always("ends", implies(active, unit.ends == (whole & (left == 0))))
    claim.always(
        "space",
        implies(
            claim.started & claim.past(transferred(unit.access), name="asked"),
            burst.space == claim.past(request.space, name="space"),
        ),
    )

    # What the unit keeps, in these terms.
    kept = data.View(access_layout(config), inside.signal("access"))
    claim.always("address", implies(active, Cat(Const(0, 2), inside.signal("word")) == line))
    claim.always("stride", implies(active, kept.stride == stride))
    lines = Mux(kept.contiguous, 1, 1 << kept.geometry.lines_log2)
    claim.always("left", implies(active, inside.signal("left") == left))
    claim.always("last", implies(active, inside.signal("is_last") == (left == 0)))
    kept_log2 = kept.geometry.line_log2 + Mux(kept.contiguous, kept.geometry.lines_log2, 0)
    claim.always("size", implies(active, size == 1 << kept_log2))
    claim.always("extent", implies(active, (inside.signal("extent") << 3 | 7) == size - 1))
    passes_page = ((line[:12] + size - 1) >> 12)[0]
    claim.always("passes_page", implies(active, inside.signal("passes_page") == passes_page))
    claim.always("size_log2", implies(active, kept_log2 <= 10))
    claim.always("lines", implies(active, (left < lines) & (kept.geometry.lines_log2 <= 5)))
    is_rest = inside.signal("is_rest")
    claim.always("rest", implies(active, is_rest == (covered != 0)))
    claim.always("rest_begins_a_page", implies(active & is_rest, begin[:12] == 0))
    claim.always("no_rest_when_idle", implies(~active, ~is_rest))
    powers = Cat(size == 1 << power for power in range(3, 11)).any()
    claim.always(
        "sizes_kept", implies(active, powers & (line[:2] == 0) & (stride[:2] == 0) & (covered < extent))
    )
    claim.always("covered_beats", covered[:beat_log2] == 0)
    return claim


@pytest.mark.parametrize("quads", CONFIGS)
def test_bursts(quads: int) -> None:
    prove(f"bursts_{quads}", bursts(quads), Induction())


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("crosses.eq(passes_page & ~is_rest)", "crosses.eq(passes_page)"),
        ("_passes_page(next_word, extent)", "_passes_page(word, extent)"),
        ("asked_extent = ((1 << size_log2)[3:] - 1)", "asked_extent = ((1 << size_log2)[3:])"),
        ("page + is_rest", "page"),
    ],
)
def test_faulty_bursts(text: str, fault: str) -> None:
    with pytest.raises(Counterexample, match="after reset"):
        prove("faulty_bursts", bursts(4, faulty(burst_generator, text, fault)), Induction(4))
