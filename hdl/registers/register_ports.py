"""The ports of the fragment registers as their users drive them, and how users share a port."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.config import QUADS, CoreConfig
from hdl.stream.pipeline import register

LANE_BITS = 32
"""Bits of a register in one lane."""

QUAD_BITS = 4 * LANE_BITS
"""Bits of a register in the four lanes of a quad, the lowest lane in the low bits."""


READ_LATENCY = 3
"""Cycles from a read to its data: the register before the block RAM, the read, and a register behind it,
since block RAM has a slow output and its users lie all over the FPGA."""


def word_bits(config: CoreConfig) -> int:
    """Bits of a word: one register of `word_quads` neighbouring quads, the lowest quad in the low bits."""
    return config.word_quads * QUAD_BITS


def address_bits(config: CoreConfig) -> int:
    """Bits of the address of a word."""
    return (config.all_registers * QUADS // config.word_quads - 1).bit_length()


def word_address(config: CoreConfig, register: ValueLike, number: ValueLike = 0) -> Value:
    """The address of a word: the one with the quads from ``number * word_quads`` on of a register.

    Parameters
    ----------
    config : CoreConfig
    register : value
        May be a sum; what lies beyond the register file has been refused before.
    number : value
        From 0 to ``8 // word_quads - 1``.
    """
    bits = (QUADS // config.word_quads).bit_length() - 1
    low = Const(number, bits) if isinstance(number, int) else Value.cast(number)[:bits]
    return Cat(low, register)[: address_bits(config)]


def quad_address_bits(config: CoreConfig) -> int:
    """Bits of the address of a quad of a register: the quad in the low three bits, the register above."""
    return (config.all_registers * QUADS - 1).bit_length()


def tile_word_bits(config: CoreConfig) -> int:
    """Bits that the tile multiplier reads or writes at once: words of `word_registers` registers in a row."""
    return config.word_registers * word_bits(config)


def word_read_signature(config: CoreConfig) -> wiring.Signature:
    """A read port for whole words, as its user drives it.

    Members
    -------
    enable : Out(1)
        A read takes place in this cycle.
    address : Out(address_bits(config))
    data : In(tile_word_bits(config))
        The word, and above it the next register's, `READ_LATENCY` cycles later, and only then.
    """
    return wiring.Signature(
        {"enable": Out(1), "address": Out(address_bits(config)), "data": In(tile_word_bits(config))}
    )


def quad_read_signature(config: CoreConfig, *, quads: int = 1) -> wiring.Signature:
    """The read port for quads, as its users drive it.

    Parameters
    ----------
    config : CoreConfig
    quads : int
        How many are read, at most `beat_quads`, in one word.

    Members
    -------
    enable : Out(1)
        Held, with the address, until `ready`.
    address : Out(quad_address_bits(config))
    ready : In(1)
        The read takes place in this cycle.
    data : In(128 * quads)
        The quad and those that follow it, `READ_LATENCY` cycles later, and only then.
    """
    return wiring.Signature(
        {
            "enable": Out(1),
            "address": Out(quad_address_bits(config)),
            "ready": In(1),
            "data": In(QUAD_BITS * quads),
        }
    )


def shared_read_signature(config: CoreConfig) -> wiring.Signature:
    """The read port that has several users, as they drive it together.

    Members
    -------
    enable, address, ready, data
        As of `quad_read_signature`.
    word : In(tile_word_bits(config))
        The word that the quad is in, as `word_read_signature` gives it, in time with `data`.
    """
    members = dict(quad_read_signature(config, quads=config.beat_quads).members)
    return wiring.Signature({**members, "word": In(tile_word_bits(config))})


def register_write_signature(config: CoreConfig, *, registers: int = 1) -> wiring.Signature:
    """A write port as its user drives it.

    Parameters
    ----------
    config : CoreConfig
    registers : int
        Words that are written at once, of registers in a row.

    Members
    -------
    enable : Out(1)
        Held, with all else, until `ready`.
    address : Out(address_bits(config))
    data : Out(registers * word_bits(config))
    lanes : Out(registers * 4 * word_quads)
        The lanes to be written.
    ready : In(1)
        The write takes place in this cycle; a read of the next cycle sees it.
    """
    return wiring.Signature(
        {
            "enable": Out(1),
            "address": Out(address_bits(config)),
            "data": Out(registers * word_bits(config)),
            "lanes": Out(registers * 4 * config.word_quads),
            "ready": In(1),
        }
    )


def share_read_port(m: Module, port: Any, words: Any, users: Sequence[Any]) -> None:
    """Give a read port to the first of its users that wants it; all of them see what was read.

    Parameters
    ----------
    m : Module
    port : shared_read_signature, as its user sees it
        Always ready.
    words : word_read_signature, as the file sees it, or None
        Comes before all others, so that it never waits.
    users : sequence of quad_read_signature, as the file sees them
        In order of priority.
    """
    m.d.comb += [user.data.eq(port.data) for user in users]
    _share(m, port, users, ("address",))
    if words is None:
        return
    m.d.comb += words.data.eq(port.word)
    with m.If(words.enable):
        in_word = Const(0, len(port.address) - len(words.address))
        m.d.comb += [
            port.enable.eq(1),
            port.address.eq(Cat(in_word, words.address)),
            *(user.ready.eq(0) for user in users),
        ]


def share_write_port(m: Module, port: Any, users: Sequence[Any]) -> None:
    """Give a write port of the file to the first of its users that wants it.

    Most data come from block RAM, late in their cycle. So each user's are registered, as zero unless it is
    chosen, and the registers joined a cycle later.

    Parameters
    ----------
    m : Module
    port : register_write_signature, as a user of `RegisterFile` sees it
    users : sequence of register_write_signature, as the file sees them
        In order of priority.
    """
    data: Value = Const(0, 1)
    for index, first in enumerate(_share(m, port, users, ("address", "lanes"))):
        data |= register(m, Mux(first, users[index].data, 0), f"{port.data.name}_{index}")
    m.d.comb += port.data.eq(data)


def _share(m: Module, port: Any, users: Sequence[Any], fields: tuple[str, ...]) -> list[Value]:
    """Share enable, ready and some fields; returns for each user whether it is chosen."""
    wanted = Signal(len(users))
    m.d.comb += [wanted.eq(Cat(user.enable for user in users)), port.enable.eq(wanted.any())]
    firsts: list[Value] = [wanted[: index + 1] == 1 << index for index in range(len(users))]
    m.d.comb += [user.ready.eq(first & port.ready) for user, first in zip(users, firsts, strict=True)]
    for field in fields:
        chosen: Value = Const(0, 1)
        for user, first in zip(users, firsts, strict=True):
            chosen |= Mux(first, getattr(user, field), 0)
        m.d.comb += getattr(port, field).eq(chosen)
    return firsts
