"""Memories of the processor: what they were given and what is written, and the handshake of the bus."""

import random

import pytest

pytestmark = pytest.mark.soc

WORDS = 6400
"""As many as the BIOS has."""


def run(*, words=None, accesses=()):
    """What a memory answers to (address, mask, data), a read without mask; it holds WORDS words.

    Between some accesses nothing is asked for. Every answer must come after two cycles, and none of itself.
    """
    from litex.gen.sim import run_simulation  # noqa: PLC0415
    from litex.soc.interconnect import wishbone  # noqa: PLC0415

    from boards.gateware.block_memory import BlockMemory  # noqa: PLC0415

    bus = wishbone.Interface(data_width=32, address_width=32, addressing="word")
    memory = BlockMemory(4 * WORDS, bus, read_only=words is not None)
    if words is not None:
        memory.mem.init = words
        memory.fill()
    chance = random.Random(5)
    answers = []

    def master():
        for address, mask, data in accesses:
            for signal, value in (
                (bus.adr, address),
                (bus.we, mask != 0),
                (bus.sel, mask),
                (bus.dat_w, data),
                (bus.cyc, 1),
                (bus.stb, 1),
            ):
                yield signal.eq(value)
            for _ in range(2):
                yield
                assert not (yield bus.ack)
            yield
            assert (yield bus.ack)
            answers.append((yield bus.dat_r))
            if chance.random() < 0.3:
                yield bus.stb.eq(0)
                yield bus.adr.eq(chance.randrange(WORDS))
                for _ in range(chance.randint(1, 3)):
                    yield
                    assert not (yield bus.ack)

    run_simulation(memory, [master()])
    return answers


def drawn_addresses(chance, count):
    return [1 << bit for bit in range(WORDS.bit_length())] + chance.choices(range(WORDS), k=count)


def test_every_word_of_a_rom_is_read_in_any_order():
    chance = random.Random(2)
    words = [chance.getrandbits(32) for _ in range(WORDS)]
    addresses = drawn_addresses(chance, 300)
    assert run(words=words, accesses=[(address, 0, 0) for address in addresses]) == [
        words[address] for address in addresses
    ]


def test_a_ram_keeps_the_bytes_that_were_written():
    chance = random.Random(3)
    near = drawn_addresses(chance, 3)
    expected, accesses, held = [], [], dict.fromkeys(near, 0)
    for _ in range(400):
        address, mask, data = chance.choice(near), chance.randrange(16), chance.getrandbits(32)
        accesses.append((address, mask, data))
        expected.append(None if mask else held[address])
        for byte in range(4):
            if mask >> byte & 1:
                kept = held[address] & ~(0xFF << 8 * byte)
                held[address] = kept | data & 0xFF << 8 * byte
    answers = run(accesses=accesses)
    assert [
        None if mask else answer for answer, (_, mask, _) in zip(answers, accesses, strict=True)
    ] == expected
