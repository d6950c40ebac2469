"""The register of answers: each access reaches the bus once, and its answer the master a cycle later."""

import random

import pytest

pytestmark = pytest.mark.soc

ACCESSES = 200
REQUEST = ("adr", "dat_w", "sel", "we")
ANSWER = ("ack", "err", "dat_r")


def values(bus, names):
    taken = []
    for name in names:
        taken.append((yield getattr(bus, name)))
    return tuple(taken)


@pytest.mark.parametrize("share", [1, 0.3], ids=["answers at once", "answers after a while"])
def test_each_access_is_answered_once(share):
    from litex.gen.sim import run_simulation  # noqa: PLC0415
    from litex.soc.interconnect import wishbone  # noqa: PLC0415
    from migen import passive  # noqa: PLC0415

    from boards.gateware.registered_soc import AnswerRegister  # noqa: PLC0415

    master = wishbone.Interface(data_width=32, address_width=32, addressing="word")
    register = AnswerRegister(master)
    bus = register.bus
    chance = random.Random(share)
    asked, reached, given, taken = [], [], [], []

    def asking():
        for _ in range(ACCESSES):
            asked.append(tuple(chance.getrandbits(len(getattr(master, name))) for name in REQUEST))
            for name, value in zip((*REQUEST, "cyc", "stb"), (*asked[-1], 1, 1), strict=True):
                yield getattr(master, name).eq(value)
            yield
            while not any((yield from values(master, ("ack", "err")))):
                yield
            if chance.random() < 0.5:
                yield master.cyc.eq(0)
                yield master.stb.eq(0)
                for _ in range(chance.randint(1, 3)):
                    yield

    @passive
    def answering():
        """Answers also where nothing is asked for: such an answer is nobody's."""
        while True:
            ready = chance.random() < share
            answer = (*chance.choice([(0, 1), (1, 0)]), chance.getrandbits(32)) if ready else (0, 0, 0)
            for name, value in zip(ANSWER, answer, strict=True):
                yield getattr(bus, name).eq(value)
            yield

    @passive
    def observing():
        answered = (0, 0)
        while True:
            yield
            assert (yield from values(master, ("ack", "err"))) == answered
            if any(answered):
                taken.append((yield from values(master, ANSWER)))
                assert (yield from values(bus, ("cyc", "stb"))) == (0, 0)
            active = all((yield from values(bus, ("cyc", "stb"))))
            answered = (yield from values(bus, ("ack", "err"))) if active else (0, 0)
            if any(answered):
                reached.append((yield from values(bus, REQUEST)))
                given.append((yield from values(bus, ANSWER)))

    run_simulation(register, [asking(), answering(), observing()])
    assert len(asked) == ACCESSES
    assert reached == asked
    assert taken == given
