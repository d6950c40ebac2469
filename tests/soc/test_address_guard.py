"""The address guard: bursts inside the region reach the memory, those outside are answered with DECERR."""

import random

import pytest

pytestmark = pytest.mark.soc

ORIGIN, SIZE = 0x4000_0000, 1 << 20
PLACES = {
    "own": (ORIGIN + 0x1000, True),
    "own, first page": (ORIGIN, True),
    "own, last line": (ORIGIN + SIZE - 64, True),
    "from 0": (0x2000, True),
    "null page": (0, False),
    "null page, last line": (0xFC0, False),
    "beyond": (ORIGIN + SIZE, False),
    "below": (ORIGIN - 64, False),
    "beyond, from 0": (SIZE, False),
    "far": (0xFFFF_F000, False),
}


def drive(bursts, writes):
    """Send bursts through a guard with a memory behind it; their responses, and what the memory saw."""
    from litex.gen.sim import passive, run_simulation  # noqa: PLC0415
    from litex.soc.interconnect.axi import AXIInterface  # noqa: PLC0415

    from boards.gateware.address_guard import AddressGuard  # noqa: PLC0415

    master = AXIInterface(data_width=128, address_width=32)
    guard = AddressGuard(master, ORIGIN, SIZE)
    slave = guard.slave
    chance = random.Random(3)
    responses, seen, data = [], [], []

    def addresses():
        channel = master.aw if writes else master.ar
        for address, length in bursts:
            yield channel.addr.eq(address)
            yield channel.len.eq(length - 1)
            yield channel.valid.eq(1)
            yield
            while not (yield channel.ready):
                yield
            yield channel.valid.eq(0)
            while chance.random() < 0.3:
                yield

    def beats():
        for index, (_, length) in enumerate(bursts):
            for beat in range(length):
                yield master.w.data.eq(index << 8 | beat)
                yield master.w.last.eq(beat == length - 1)
                yield master.w.valid.eq(1)
                yield
                while not (yield master.w.ready):
                    yield
                yield master.w.valid.eq(0)
                while chance.random() < 0.3:
                    yield

    def answers():
        channel = master.b if writes else master.r
        for _, length in bursts:
            for beat in range(1 if writes else length):
                yield channel.ready.eq(0)
                while chance.random() < 0.3:
                    yield
                yield channel.ready.eq(1)
                yield
                while not (yield channel.valid):
                    yield
                if not writes:
                    assert (yield channel.last) == (beat == length - 1)
                responses.append((yield channel.resp))
        yield channel.ready.eq(0)

    @passive
    def memory():
        waiting = []
        answering = []
        channel = slave.aw if writes else slave.ar
        while True:
            yield channel.ready.eq(chance.random() < 0.6)
            if writes:
                yield slave.w.ready.eq(chance.random() < 0.6)
                yield slave.b.valid.eq(bool(answering))
            else:
                yield slave.r.valid.eq(bool(waiting))
                if waiting:
                    yield slave.r.last.eq(waiting[0] == 1)
            yield
            if (yield channel.valid) and (yield channel.ready):
                seen.append((yield channel.addr))
                waiting.append((yield channel.len) + 1)
            if writes and (yield slave.w.valid) and (yield slave.w.ready):
                data.append((yield slave.w.data))
                if (yield slave.w.last):
                    answering.append(0)
            if writes and (yield slave.b.valid) and (yield slave.b.ready):
                answering.pop(0)
            if not writes and (yield slave.r.valid) and (yield slave.r.ready):
                waiting[0] -= 1
                if not waiting[0]:
                    waiting.pop(0)

    run_simulation(guard, [addresses(), answers(), memory(), *([beats()] if writes else [])])
    return responses, seen, data


@pytest.mark.parametrize("writes", [False, True], ids=["reads", "writes"])
def test_every_burst_is_answered_as_its_address_says(writes):
    chance = random.Random(11 + writes)
    bursts = [(*PLACES[name], chance.randint(1, 5)) for name in chance.choices(list(PLACES), k=120)]
    responses, seen, data = drive([(address, length) for address, _, length in bursts], writes)
    expected = [
        0b00 if inside else 0b11 for _, inside, length in bursts for _ in range(1 if writes else length)
    ]
    assert responses == expected
    assert seen == [ORIGIN | address % SIZE for address, inside, _ in bursts if inside]
    if writes:
        assert data == [
            index << 8 | beat
            for index, (_, inside, length) in enumerate(bursts)
            if inside
            for beat in range(length)
        ]


@pytest.mark.parametrize(("origin", "size"), [(0x4000_0000, 3 << 20), (0x1000, 1 << 20)])
def test_a_region_that_is_not_aligned(origin, size):
    from litex.soc.interconnect.axi import AXIInterface  # noqa: PLC0415

    from boards.gateware.address_guard import AddressGuard  # noqa: PLC0415

    with pytest.raises(ValueError, match=f"not {size:#x} bytes at {origin:#x}"):
        AddressGuard(AXIInterface(data_width=128, address_width=32), origin, size)
