"""The burst router: each burst to the memory that its address means, and answers in their order."""

from types import ModuleType

import pytest
from amaranth.hdl import Cat, Mux, Signal, Value

from formal.claims import Claim, implies
from formal.faults import faulty
from formal.runner import Counterexample, Induction, prove
from formal.streams import keeps_order, offer_stays, transferred
from golden.tables.instruction_set import SPACES
from hdl.config import CoreConfig
from hdl.memory import burst_router
from hdl.stream.distributed_memory import table_address

pytestmark = pytest.mark.formal

CONFIG = CoreConfig(address_bits=20, shared_bytes=0x3000, shared_base=0xF_3000)
MOST = 100
"""Bursts that the memories behind take without an answer; `BurstRouter` says why there are no more."""


def routed(hdl: ModuleType = burst_router) -> Claim:
    """`BurstRouter`: bursts go out in order, and only one memory at a time has some to answer.

    A burst for the on-chip memory is one of that space, or generic and within the window; its address then
    counts from the window's first byte. As long as an answer is to come, `is_shared` names the memory it
    comes from. Assumes that answers are to bursts that were sent, and that no more than 100 are in flight.
    Proven by induction.
    """
    claim = Claim()
    unit = hdl.BurstRouter(CONFIG)
    inside = claim.include(unit)
    m = claim.module
    burst = unit.bursts.payload
    base, end = CONFIG.shared_base, CONFIG.shared_base + CONFIG.shared_bytes
    generic = burst.space == SPACES.index("generic")
    in_window = generic & (burst.address >= base) & (burst.address < end)
    to_chip = in_window | (burst.space == SPACES.index("shared"))
    address = (burst.address - Mux(in_window, base, 0))[: CONFIG.address_bits]
    sent = transferred(unit.to_bus) | transferred(unit.to_shared)
    payload = Mux(unit.to_shared.valid, Value.cast(unit.to_shared.payload), Value.cast(unit.to_bus.payload))
    watched = keeps_order(
        claim,
        enters=transferred(unit.bursts),
        value=Cat(to_chip, address, burst.length),
        leaves=sent,
        leaving=Cat(unit.to_shared.valid, payload),
        places=2,
    )
    under_way = claim.counter("bursts_under_way", MOST + 1, more=sent, fewer=unit.answered)
    answering_chip = Signal(name="answering_chip")
    with m.If(sent):
        m.d.sync += answering_chip.eq(unit.to_shared.valid)
    ready = unit.to_bus.ready | unit.to_shared.ready
    claim.assume("answers_are_owed", implies(unit.answered, under_way != 0))
    claim.assume("memories_are_limited", implies(under_way == MOST, ~ready))
    offer_stays(claim, "to_bus", unit.to_bus)
    offer_stays(claim, "to_shared", unit.to_shared)
    claim.always("one_at_a_time", ~(unit.to_bus.valid & unit.to_shared.valid))
    changes = sent & (unit.to_shared.valid != answering_chip)
    claim.always("other_memory_waits", implies(changes, under_way == 0))
    claim.always("is_shared", implies(under_way != 0, unit.is_shared == answering_chip))
    goes = unit.to_bus.valid | unit.to_shared.valid
    claim.always("none_waits_for_nothing", implies((under_way == 0) & (watched.level != 0), goes))

    claim.always("unanswered", (inside.signal("unanswered") + 1 == under_way) & (under_way <= MOST))
    level, produce, consume = (
        inside.signal(f"routed.{register}") for register in ("level", "produce", "consume")
    )
    claim.always("level", (watched.level == level) & (level <= 2) & (produce == consume ^ level[0]))
    word = claim.word(inside, "routed.storage", table_address(consume ^ watched.ahead[0]))
    claim.always("watched_place", implies(watched.active, Value.cast(word) == watched.value))
    return claim


def test_burst_router() -> None:
    prove("burst_router", routed(), Induction())


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[:bits] < pages)", "[:bits] <= pages)"),
        ("(page[bits:] == first >> bits) & ", ""),
        ("window_page.eq(page - first)", "window_page.eq(page)"),
        ("| unanswered[-1])", "| (unanswered <= 0))"),
        ("with m.If(sent & ~self.answered):", "with m.If(sent):"),
    ],
)
def test_faulty_burst_router(text: str, fault: str) -> None:
    with pytest.raises(Counterexample, match="after reset"):
        prove("faulty_burst_router", routed(faulty(burst_router, text, fault)), Induction(6))
