"""The units on the bus keep to AXI4 and AXI4-Lite."""

from types import ModuleType
from typing import Any

import pytest
from amaranth.hdl import Const, Mux, Value, unsigned
from amaranth.lib import data

from formal.axi_rules import assume_burst, burst_in_page, lite_slave, read_master, write_master
from formal.claims import Claim, Opened, implies
from formal.faults import faulty
from formal.runner import Bounded, Counterexample, Induction, prove
from formal.streams import offer_stays
from hdl.config import PRESETS, CoreConfig
from hdl.control.host import host_interface as interface
from hdl.memory import axi_reads, axi_writes
from hdl.memory.axi import beat_bytes, burst_layout
from hdl.memory.beats import write_beat_layout
from hdl.registers.register_ports import READ_LATENCY
from hdl.stream.distributed_memory import table_address

pytestmark = [pytest.mark.formal, pytest.mark.long]

BUSES = {bits: CoreConfig(data_bits=bits, address_bits=16, outstanding_reads=3) for bits in (64, 128, 512)}
"""Beats have 16 bytes; wider ones only widen the data. The width of an address and the limit of reads are
parameters that only size registers."""


def buffer_in_order(claim: Claim, inside: Opened, name: str, valid: Value) -> None:
    """An invariant of a stream buffer: its second place is used only behind the first."""
    claim.always(f"{name}_in_order", implies(inside.signal(f"{name}.spare_valid"), valid))


def queue_in_order(claim: Claim, inside: Opened, name: str, depth: int) -> Value:
    """An invariant of a queue; returns its level."""
    level, produce, consume = (
        inside.signal(f"{name}.{register}") for register in ("level", "produce", "consume")
    )
    end = consume + level
    claim.always(f"{name}_in_order", produce == Mux(end >= depth, end - depth, end))
    claim.always(f"{name}_in_queue", (consume < depth) & (level <= depth))
    return level


def second_in_queue(
    claim: Claim, inside: Opened, name: str, layout: data.StructLayout
) -> tuple[Value, data.View]:
    """Of a queue of two, whether there is another payload behind the one on offer, and that payload."""
    is_full = queue_in_order(claim, inside, name, 2) == 2
    oldest = inside.signal(f"{name}.consume")
    return is_full, data.View(layout, claim.word(inside, f"{name}.storage", table_address(~oldest)))


def waiting_addresses(claim: Claim, inside: Opened, config: CoreConfig, channel: Any) -> Value:
    """How many bursts wait to be taken by the bus; they stay in their page."""
    layout = burst_layout(config)
    has_second, second = second_in_queue(claim, inside, "asking", layout)
    first = data.View(layout, inside.signal("asking.output__payload"))
    claim.always("waiting_in_page", implies(has_second, burst_in_page(second, beat_bytes(config))))
    claim.always(
        "next_in_page", implies(inside.signal("asking.level") != 0, burst_in_page(first, beat_bytes(config)))
    )
    return channel.valid + has_second


def reads(bits: int, hdl: ModuleType = axi_reads) -> Claim:
    """`AxiReads`: `formal.axi_rules.read_master`, and what it hands on stays on offer.

    Assumes of the bursts it gets that they stay in their page. Proven by induction.
    """
    claim = Claim()
    config = BUSES[bits]
    unit = hdl.AxiReads(config)
    inside = claim.include(unit)
    assume_burst(claim, "bursts", unit.bursts)
    outstanding = read_master(claim, config, unit.ar, unit.r)
    offer_stays(claim, "beats", unit.beats)
    waiting = waiting_addresses(claim, inside, config, unit.ar)
    claim.always("under_way", inside.signal("under_way") == outstanding + waiting)
    if bits > 128:
        # So the lane of the beat on offer stays.
        level = queue_in_order(claim, inside, "lanes", config.outstanding_reads)
        claim.always("lanes", level == inside.signal("under_way"))
    return claim


def writes(bits: int, hdl: ModuleType = axi_writes) -> Claim:
    """`AxiWrites`: `formal.axi_rules.write_master`, and a response handed on for each, which stays on offer.

    Assumes of the bursts it gets that they stay in their page. Proven by induction; the invariants say how
    many bursts are in which part of the unit.
    """
    claim = Claim()
    config = BUSES[bits]
    unit = hdl.AxiWrites(config)
    inside = claim.include(unit)
    assume_burst(claim, "bursts", unit.bursts)
    bus = write_master(claim, config, axi_writes.OUTSTANDING_WRITES, unit.aw, unit.w, unit.b)
    offer_stays(claim, "responses", unit.responses)

    waiting_addresses(claim, inside, config, unit.aw)
    active, unanswered = inside.signal("active"), inside.signal("unanswered")
    level = inside.signal("expected.waiting") + 1
    newest, oldest = inside.signal("expected.newest"), inside.signal("expected.oldest")
    claim.always("expected_in_order", (level >= 0) & (newest == (oldest + level)[: len(newest)]))
    unwritten = level + active
    seen = inside.signal("seen")
    claim.always("unanswered", unanswered == bus["addresses"])
    claim.always("room", unanswered <= axi_writes.OUTSTANDING_WRITES)
    claim.always("seen", implies(seen, unit.aw.valid))
    claim.always("closed", inside.signal("closed") == ~active)
    fields: dict[str, Any] = {"beat": write_beat_layout(config), "last": 1}
    if bits > 128:
        fields["lane"] = unsigned((bits // 128).bit_length() - 1)
    layout = data.StructLayout(fields)
    first = data.View(layout, inside.signal("giving.output__payload"))
    second_valid, second = second_in_queue(claim, inside, "giving", layout)
    first_valid = unit.w.valid
    buffer_in_order(claim, inside, "answers", unit.responses.valid)
    ending = (first_valid & first.last) + (second_valid & second.last)
    offered = bus["addresses"] + (unit.aw.valid & seen)
    claim.always("bursts_in_parts", offered == bus["written"] + ending + unwritten)
    unfinished = (second_valid & ~second.last) | (first_valid & ~second_valid & ~first.last)
    claim.always("unfinished_is_active", implies(unfinished, active))
    return claim


def host(hdl: ModuleType = interface) -> Claim:
    """`HostInterface`: `formal.axi_rules.lite_slave`; an access to the on-chip memory stays until served.

    Assumes of the core behind it alone that it does not begin to work while an access to a window waits:
    commands come from the host. Proven by induction; the invariants say where each access is.
    """
    claim = Claim()
    unit = hdl.HostInterface(PRESETS["small"])
    inside = claim.include(unit)
    owed = lite_slave(claim, unit.axi, most=2 + interface._ANSWERS)
    first, second = inside.signal("has_access"), inside.signal("requests.spare_valid")
    access = data.View(interface._Access, Value.cast(inside.signal("access")))
    spare = data.View(interface._Access, Value.cast(inside.signal("requests.spare")))
    answered = inside.signal("written.spare_valid") + unit.axi.b.valid
    writing = (first & access.is_write) + (second & spare.is_write) + answered
    reserved = interface._ANSWERS - 1 - inside.signal("answers.unreserved")
    reading = (first & ~access.is_write) + (second & ~spare.is_write) + reserved
    arriving = sum((inside.signal(f"entered_{cycle}") for cycle in range(1, READ_LATENCY + 1)), Const(0))
    claim.always("spare_access", implies(second, first))
    claim.always("spare_answer", implies(inside.signal("written.spare_valid"), unit.axi.b.valid))
    claim.always("writes_owed", (owed["addresses"] == writing) & (owed["words"] == writing))
    claim.always("reads_owed", owed["reads"] == reading)
    waiting = inside.signal("answers.waiting") + 1
    newest, oldest = inside.signal("answers.newest"), inside.signal("answers.oldest")
    claim.always("no_more_places", (reserved >= 0) & (reserved <= interface._ANSWERS) & (waiting >= 0))
    claim.always("in_places", newest == (oldest + waiting)[: len(newest)])
    claim.always("places", reserved == waiting + arriving)
    before = claim.past(unit.shared.enable & ~unit.shared.ready, name="shared_waited")
    claim.assume("shared_finds_no_work", implies(claim.started & before, inside.signal("registers_idle")))
    claim.always("shared_stays", implies(claim.started & before, unit.shared.enable))
    return claim


@pytest.mark.parametrize("bits", BUSES)
def test_reads(bits: int) -> None:
    prove(f"axi_reads_{bits}", reads(bits), Induction(2))


@pytest.mark.parametrize("bits", BUSES)
def test_writes(bits: int) -> None:
    prove(f"axi_writes_{bits}", writes(bits), Induction(2))


def test_host() -> None:
    prove("axi_lite_host", host(), Induction(2))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("under_way != config.outstanding_reads", "under_way <= config.outstanding_reads"),
        ("ended.eq(beat & self.r.payload.last)", "ended.eq(beat)"),
    ],
)
def test_faulty_reads(text: str, fault: str) -> None:
    with pytest.raises(Counterexample, match="after reset"):
        prove("faulty_axi_reads", reads(64, faulty(axi_reads, text, fault)), Bounded(8))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[active.eq(expected.output.valid)", "[active.eq(1)"),
        ("seen.eq(self.aw.valid & ~self.aw.ready)", "seen.eq(0)"),
        ("source.ready.eq(self.w.ready & upper)", "source.ready.eq(upper)"),
    ],
)
def test_faulty_writes(text: str, fault: str) -> None:
    with pytest.raises(Counterexample, match="after reset"):
        prove("faulty_axi_writes", writes(64, faulty(axi_writes, text, fault)), Bounded(8))


@pytest.mark.parametrize(
    ("text", "fault", "broken"),
    [
        ("written.input.valid.eq(served & access.is_write)", "written.input.valid.eq(served)", "writes_owed"),
        ("~access.is_write & answers.ready", "~access.is_write", "r_is_owed|no_more|r_stays"),
        ("m.d.comb += served.eq(0)", "pass", "stays"),
    ],
)
def test_faulty_host(text: str, fault: str, broken: str) -> None:
    faulty_hdl = faulty(interface, text, fault)
    with pytest.raises(Counterexample, match=rf"broken: .*({broken})"):
        prove("faulty_axi_lite_host", host(faulty_hdl), Bounded(12))
