"""The rules of AXI4 for a master, and of AXI4-Lite for a slave."""

from typing import Any

from amaranth.hdl import Signal, Value

from formal.claims import Claim, implies
from formal.streams import offer_stays, transferred
from hdl.config import PAGE_BYTES, CoreConfig
from hdl.memory.axi import beat_bytes


def burst_in_page(payload: Any, bytes_a_beat: int) -> Value:
    """Whether a burst begins at a beat of 16 bytes and ends within its page of 4 KiB."""
    offset = payload.address[: PAGE_BYTES.bit_length() - 1]
    aligned = payload.address[:4] == 0
    return aligned & (offset + (payload.length + 1) * bytes_a_beat <= PAGE_BYTES)


def assume_burst(claim: Claim, name: str, stream: Any) -> None:
    """Assume of bursts of 16-byte beats that they stay on offer and in their page, with 128 beats at most."""
    claim.assume(f"{name}_in_page", burst_in_page(stream.payload, 16) & (stream.payload.length < 128))
    offer_stays(claim, name, stream, assumed=True)


def read_master(claim: Claim, config: CoreConfig, ar: Any, r: Any) -> Signal:
    """Claim the rules of the read channels, and assume the rules of the memory behind them.

    Claimed: an address stays until it is taken; its burst stays in its page; no more bursts are in flight
    than configured. Assumed: data come for bursts that were taken, and stay until they are.

    Returns
    -------
    Signal
        Bursts in flight.
    """
    outstanding = claim.counter(
        "reads_outstanding",
        config.outstanding_reads + 1,
        more=transferred(ar),
        fewer=transferred(r) & r.payload.last,
    )
    offer_stays(claim, "ar", ar)
    claim.always("ar_in_page", implies(ar.valid, burst_in_page(ar.payload, beat_bytes(config))))
    claim.always("reads_allowed", outstanding <= config.outstanding_reads)
    offer_stays(claim, "r", r, assumed=True)
    claim.assume("r_was_asked_for", implies(r.valid, outstanding != 0))
    return outstanding


def write_master(claim: Claim, config: CoreConfig, limit: int, aw: Any, w: Any, b: Any) -> dict[str, Signal]:
    """Claim the rules of the write channels, and assume the rules of the memory behind them.

    Claimed: addresses and data stay until they are taken; a burst stays in its page; no beat comes before the
    burst that it belongs to was offered; no more bursts are in flight than `limit`. Assumed: responses come
    for bursts of which address and last beat were taken, and stay until they are.

    Returns
    -------
    dict of str to Signal
        Counts: bursts taken and not answered, ``addresses``; bursts written and not answered, ``written``.
    """
    answered = transferred(b)
    addresses = claim.counter("writes_outstanding", limit + 1, more=transferred(aw), fewer=answered)
    ended = transferred(w) & w.payload.last
    written = claim.counter("writes_written", limit + 1, more=ended, fewer=answered)
    offer_stays(claim, "aw", aw)
    offer_stays(claim, "w", w)
    claim.always("aw_in_page", implies(aw.valid, burst_in_page(aw.payload, beat_bytes(config))))
    claim.always("writes_allowed", addresses <= limit)
    claim.always("no_beat_before_its_burst", implies(w.valid, written < addresses + aw.valid))
    offer_stays(claim, "b", b, assumed=True)
    claim.assume("b_was_earned", implies(b.valid, (addresses != 0) & (written != 0)))
    return {"addresses": addresses, "written": written}


def lite_slave(claim: Claim, axi: Any, *, most: int) -> dict[str, Signal]:
    """Claim the rules of an AXI4-Lite slave, and assume the rules of its master.

    Claimed: responses stay until they are taken; there is one for each write of which address and data were
    taken, and one for each read, and none else. Assumed: what the master offers stays until it is taken.

    Parameters
    ----------
    claim : Claim
    axi : Axi4LiteSignature
    most : int
        Accesses of either kind that the slave takes before it answers the first one.

    Returns
    -------
    dict of str to Signal
        Taken and not answered: ``addresses`` and ``words`` of writes, ``reads``.
    """
    for name in ("aw", "w", "ar"):
        offer_stays(claim, name, getattr(axi, name), assumed=True)
    for name in ("b", "r"):
        offer_stays(claim, name, getattr(axi, name))
    answered = transferred(axi.b)
    addresses = claim.counter("write_addresses", most + 1, more=transferred(axi.aw), fewer=answered)
    words = claim.counter("write_words", most + 1, more=transferred(axi.w), fewer=answered)
    reads = claim.counter("reads", most + 1, more=transferred(axi.ar), fewer=transferred(axi.r))
    claim.always("b_is_owed", implies(axi.b.valid, (addresses != 0) & (words != 0)))
    claim.always("r_is_owed", implies(axi.r.valid, reads != 0))
    claim.always("no_more_at_a_time", (addresses <= most) & (words <= most) & (reads <= most))
    return {"addresses": addresses, "words": words, "reads": reads}
