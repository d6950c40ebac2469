"""The register of answers: each access reaches the slave once, its answer the master a cycle later."""

import random

import pytest

pytestmark = pytest.mark.soc

COUNT = 60


@pytest.mark.parametrize("pause", [0.0, 0.5])
@pytest.mark.parametrize("most_wait", [0, 3])
def test_each_access_is_made_and_answered_once(most_wait, pause):
    from litex.gen.sim import passive, run_simulation  # noqa: PLC0415
    from litex.soc.interconnect import wishbone  # noqa: PLC0415

    from boards.gateware.bus_answers import AnswerRegister  # noqa: PLC0415

    master, slave = wishbone.Interface(), wishbone.Interface()
    answers = AnswerRegister(master, slave)
    chance = random.Random(most_wait)
    asked = [(chance.randrange(1 << 20), chance.random() < 0.5, index % 7 == 3) for index in range(COUNT)]
    seen, answered, cycles = [], [], []

    def requests():
        for address, write, _ in asked:
            yield master.adr.eq(address)
            yield master.dat_w.eq(address ^ 0xFFFF)
            yield master.sel.eq(address & 0xF)
            yield master.we.eq(write)
            yield master.cyc.eq(1)
            yield master.stb.eq(1)
            yield
            taken = 1
            while not ((yield master.ack) or (yield master.err)):
                yield
                taken += 1
            cycles.append(taken)
            answered.append(((yield master.dat_r), (yield master.ack), (yield master.err)))
            while chance.random() < pause:
                yield master.cyc.eq(0)
                yield master.stb.eq(0)
                yield

    @passive
    def responses():
        """As slow as `most_wait` says, in the same cycle at best, as LiteX's slaves with a cycle of wait."""
        while True:
            yield slave.ack.eq(0)
            yield slave.err.eq(0)
            yield
            if not ((yield slave.cyc) and (yield slave.stb)):
                continue
            for _ in range(chance.randint(0, most_wait)):
                yield
            address, write = (yield slave.adr), (yield slave.we)
            seen.append((address, write))
            assert (yield slave.dat_w) == address ^ 0xFFFF
            assert (yield slave.sel) == address & 0xF
            refused = asked[len(seen) - 1][2]
            yield slave.dat_r.eq(address + 1)
            yield slave.ack.eq(not refused)
            yield slave.err.eq(refused)
            yield

    run_simulation(answers, [requests(), responses()])
    assert seen == [(address, write) for address, write, _ in asked]
    assert answered == [(address + 1, not refused, refused) for address, _, refused in asked]
    assert min(cycles) == 3
