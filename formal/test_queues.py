"""The queues: nothing is lost, nothing comes twice, and the order stays."""

from types import ModuleType

import pytest
from amaranth.hdl import Mux, Value, unsigned

from formal.claims import Claim, implies
from formal.faults import faulty
from formal.runner import Counterexample, Induction, prove
from formal.streams import keeps_order, offer_stays, transferred
from hdl.stream import elastic, queue, stream_buffer
from hdl.stream.distributed_memory import table_address

pytestmark = pytest.mark.formal

WIDTH = 8
"""Of a payload. Queues move payloads and look at none of their bits, so each bit goes the way of these."""


def credit_queue(depth: int, hdl: ModuleType = elastic) -> Claim:
    """`CreditQueue`: order, and a place for whatever was admitted.

    Assumes that nothing enters unless `ready`, and that nothing is pushed that has not entered. Proven by
    induction: the invariants tie the two counts and the pointers to the number of entries, and say where in
    the memory the watched entry lies.
    """
    claim = Claim()
    queue = hdl.CreditQueue(unsigned(WIDTH), depth=depth)
    unit = claim.include(queue)
    leaves = transferred(queue.output)
    watched = keeps_order(
        claim,
        enters=queue.push,
        value=queue.payload,
        leaves=leaves,
        leaving=queue.output.payload,
        places=depth,
    )
    under_way = claim.counter("under_way", depth + 1, more=queue.enter, fewer=leaves)
    claim.assume("enters_when_ready", implies(queue.enter, queue.ready))
    claim.assume("pushes_what_entered", implies(queue.push, under_way > watched.level))
    offer_stays(claim, "output", queue.output)
    claim.always("ready_while_room", queue.ready == (under_way < depth))
    claim.always("valid_while_waiting", queue.output.valid == (watched.level != 0))

    oldest, newest = unit.signal("oldest"), unit.signal("newest")
    word = claim.word(unit, "places", table_address((oldest + watched.ahead)[: len(oldest)]))
    claim.always("entries_entered", (watched.level <= under_way) & (under_way <= depth))
    claim.always("unreserved", unit.signal("unreserved") == depth - 1 - under_way)
    claim.always("waiting", unit.signal("waiting") == watched.level - 1)
    claim.always("pointers", (newest - oldest)[: len(newest)] == watched.level[: len(newest)])
    claim.always("watched_place", implies(watched.active, word == watched.value))
    return claim


def fifo(depth: int, hdl: ModuleType = queue) -> Claim:
    """`Queue` in distributed memory: order, room for `depth`, `level`.

    No assumptions. Proven by induction, as `credit_queue`.
    """
    claim = Claim()
    unit = hdl.Queue(unsigned(WIDTH), depth)
    inside = claim.include(unit)
    watched = keeps_order(
        claim,
        enters=transferred(unit.input),
        value=unit.input.payload,
        leaves=transferred(unit.output),
        leaving=unit.output.payload,
        places=depth,
    )
    offer_stays(claim, "output", unit.output)
    claim.always("ready_while_room", unit.input.ready == (watched.level < depth))
    claim.always("valid_while_waiting", unit.output.valid == (watched.level != 0))
    claim.always("level", unit.level == watched.level)

    def behind(ahead: Value) -> Value:
        place = consume + ahead
        return Mux(place >= depth, place - depth, place)[: len(consume)]

    consume = inside.signal("consume")
    word = claim.word(inside, "storage", table_address(behind(watched.ahead)))
    claim.always("pointers", (consume < depth) & (inside.signal("produce") == behind(watched.level)))
    claim.always("watched_place", implies(watched.active, word == watched.value))
    return claim


def buffer(hdl: ModuleType = stream_buffer) -> Claim:
    """`StreamBuffer`: order, and neither `input.ready` nor `output.valid` depends on the other side.

    No assumptions. Proven by induction: the watched entry is in one of the two places, by what is ahead.
    """
    claim = Claim()
    buffer = hdl.StreamBuffer(unsigned(WIDTH))
    unit = claim.include(buffer)
    watched = keeps_order(
        claim,
        enters=transferred(buffer.input),
        value=buffer.input.payload,
        leaves=transferred(buffer.output),
        leaving=buffer.output.payload,
        places=2,
    )
    offer_stays(claim, "output", buffer.output)
    claim.always("ready_while_room", buffer.input.ready == (watched.level < 2))
    claim.always("valid_while_waiting", buffer.output.valid == (watched.level != 0))
    place = Value.cast(watched.ahead != 0)
    spare = unit.signal("spare")
    claim.always(
        "watched_place",
        implies(
            watched.active,
            watched.value
            == (place.replicate(WIDTH) & spare | ~place.replicate(WIDTH) & buffer.output.payload),
        ),
    )
    return claim


@pytest.mark.parametrize("depth", [2, 4, 8, 32])
def test_credit_queue(depth: int) -> None:
    prove(f"credit_queue_{depth}", credit_queue(depth), Induction())


@pytest.mark.parametrize("depth", [1, 2, 5, 8, 32])
def test_queue(depth: int) -> None:
    prove(f"queue_{depth}", fifo(depth), Induction())


def test_stream_buffer() -> None:
    prove("stream_buffer", buffer(), Induction())


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("more=leave, fewer=self.enter", "more=leave, fewer=self.push"),
        ("more=self.push, fewer=leave", "more=self.enter, fewer=leave"),
        ("(leave, oldest)", "(self.output.ready, oldest)"),
    ],
)
def test_faulty_credit_queue(text: str, fault: str) -> None:
    with pytest.raises(Counterexample, match="broken"):
        prove("faulty_credit_queue", credit_queue(4, faulty(elastic, text, fault)), Induction(8))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("index == self._depth - 1", "index.all()"),
        ("put = self.input.valid & self.input.ready", "put = self.input.valid"),
        ("put != take", "put"),
        ("into.en.eq(put)", "into.en.eq(self.input.valid)"),
    ],
)
def test_faulty_queue(text: str, fault: str) -> None:
    with pytest.raises(Counterexample, match="broken"):
        prove("faulty_queue", fifo(5, faulty(queue, text, fault)), Induction(8))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("with m.If(self.input.ready):", "with m.If(self.input.valid):"),
        ("Mux(spare_valid, spare, self.input.payload)", "self.input.payload"),
        ("self.output.ready | ~self.output.valid", "self.output.ready"),
    ],
)
def test_faulty_stream_buffer(text: str, fault: str) -> None:
    with pytest.raises(Counterexample, match="broken"):
        prove("faulty_stream_buffer", buffer(faulty(stream_buffer, text, fault)), Induction(8))
