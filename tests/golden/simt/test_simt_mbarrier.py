"""mbarrier: counts, phases, transactions, what is refused, and pipelines of CUDA's library."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from short_kernels import kernel, run

from golden.simt import Deadlock, KernelFault, Module

KERNELS = Path(__file__).parents[2] / "data" / "kernels"
BARRIER = ".shared .align 8 .b64 bar[4];"


def one_thread(body, count=64):
    """What a thread stores to its argument as 64-bit words."""
    out = np.zeros(count, np.uint64)
    kernel(f"{BARRIER}\n{body}").launch(1, 1, [out])
    return out.tolist()


class Counts:
    """The counts that the PTX manual says a barrier keeps."""

    def __init__(self, count):
        self.phase, self.expected, self.pending, self.transactions = 0, count, count, 0

    def signal(self, arrivals, transactions, drop):
        before = self.pending, self.phase
        self.transactions += transactions
        self.pending -= arrivals
        self.expected -= arrivals if drop else 0
        if not self.pending and not self.transactions:
            self.phase, self.pending = self.phase + 1, self.expected
        return before


@settings(max_examples=40)
@given(st.data())
def test_any_sequence_of_operations(data):
    """Pending counts and phases after each operation, as the manual's rules give them."""
    counts = Counts(data.draw(st.integers(1, 9)))
    lines, expected = [f"mbarrier.init.shared.b64 [bar], {counts.pending};"], []
    for place in range(data.draw(st.integers(1, 12))):
        names = ["expect_tx"]
        if counts.transactions:
            names.append("complete_tx")
        if counts.pending and counts.expected > 1:
            names += ["arrive", "arrive_drop", "arrive.expect_tx", "arrive.noComplete"]
        name = data.draw(st.sampled_from(names))
        arrivals = transactions = 0
        if name == "complete_tx":
            amount = data.draw(st.integers(1, counts.transactions))
            transactions = -amount
        elif name.endswith("expect_tx"):
            amount = transactions = data.draw(st.integers(0, 99))
            arrivals = int(name != "expect_tx")
        else:
            most = counts.pending - (name == "arrive.noComplete")
            most = min(most, counts.expected - 1) if name == "arrive_drop" else most
            if not most:
                continue
            amount = arrivals = data.draw(st.integers(1, most))
        pending, phase = counts.signal(arrivals, transactions, name == "arrive_drop")
        target = "%rd3, " if name.startswith("arrive") else ""
        lines.append(f"mbarrier.{name}.shared::cta.b64 {target}[bar], {amount};")
        lines.append("mov.u32 %r1, 0; mov.u32 %r2, 0;")
        if target:
            lines.append(
                "mbarrier.pending_count.b64 %r1, %rd3; mbarrier.test_wait.shared.b64 %p1, [bar], %rd3;"
            )
            lines.append("selp.u32 %r2, 1, 0, %p1;")
        lines.append(f"mbarrier.try_wait.parity.shared.b64 %p2, [bar], {phase & 1}, 10;")
        lines.append("selp.u32 %r3, 1, 0, %p2; mbarrier.test_wait.parity.shared.b64 %p2, [bar], 1;")
        lines.append(f"selp.u32 %r4, 1, 0, %p2; st.global.v4.u32 [%rd0+{16 * place}], {{%r1,%r2,%r3,%r4}};")
        done = counts.phase != phase
        told = [pending, int(done)] if target else [0, 0]
        expected.append((place, [*told, int(done), int(counts.phase % 2 == 0)]))
    out = np.zeros((16, 4), np.uint32)
    kernel(BARRIER + "\n".join(lines)).launch(1, 1, [out])
    for place, row in expected:
        assert out[place].tolist() == row, lines


@pytest.mark.parametrize(
    ("operations", "word"),
    [
        ("init 1", 0x7FFFF800001FFFFE),
        ("init 3", 0x7FFFE800001FFFFA),
        ("init 3; arrive _", 0x7FFFF000001FFFFA),
        ("init 3; arrive_drop _", 0x7FFFF000001FFFFC),
        ("init 3; expect_tx 64", 0x7FFFEBFFF81FFFFA),
        ("init 3; expect_tx 0x12345", 0x7FFFEBDB977FFFFA),
        ("init 2; arrive _; arrive _", 0xFFFFF000001FFFFC),
    ],
)
def test_the_word_that_stays_in_memory(operations, word):
    """Words of a published analysis of the hardware, read after ``mbarrier.inval``."""
    text = ""
    for operation in operations.split("; "):
        name, operand = operation.split()
        places = "_, [bar]" if operand == "_" else f"[bar], {operand}"
        text += f"mbarrier.{name}.shared::cta.b64 {places};\n"
    text += "mbarrier.inval.shared.b64 [bar]; ld.shared.b64 %rd3, [bar]; st.global.b64 [%rd0], %rd3;"
    assert one_thread(text)[0] == word


def test_lanes_arrive_one_after_the_other_and_meet():
    body = f"""{BARRIER}
    setp.ne.u32 %p0, %r0, 0;
    @!%p0 mbarrier.init.shared::cta.b64 [bar+8], 64;
    bar.sync 0;
    cvta.shared.u64 %rd4, bar;
    st.shared.u32 [bar+16], %r0;
    mbarrier.arrive.release.cta.b64 %rd3, [%rd4+8];
    WAIT: mbarrier.try_wait.acquire.cta.b64 %p1, [%rd4+8], %rd3;
    @!%p1 bra WAIT;
    mbarrier.pending_count.b64 %r3, %rd3;
    st.global.u32 [%rd1], %r3;"""
    assert run(body, 64).tolist() == list(range(64, 0, -1))


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ("mbarrier.arrive.shared.b64 _, [bar+8];", "no mbarrier.init before this operation, at the mbarrier"),
        ("mbarrier.test_wait.parity.shared.b64 %p0, [bar+8], 0;", "no mbarrier.init before"),
        ("mbarrier.inval.shared.b64 [bar]; mbarrier.arrive.shared.b64 _, [bar];", "no mbarrier.init before"),
        ("mbarrier.init.shared.b64 [bar+8], 0;", "a count of arrivals is 1 to 1048575, not 0"),
        ("mbarrier.init.shared.b64 [bar+8], 1048576;", "is 1 to 1048575, not 1048576"),
        ("mbarrier.arrive.shared::cta.b64 _, [bar], 3;", "3 arrivals, but 2 are pending, at the mbarrier at"),
        ("mbarrier.arrive.shared::cta.b64 _, [bar], 0;", "is 1 to 1048575, not 0"),
        ("mbarrier.arrive.noComplete.shared.b64 %rd3, [bar], 2;", ".noComplete completes the phase"),
        ("mbarrier.expect_tx.shared::cta.b64 [bar], 1048576;", "1048576 transactions, beyond -1048575"),
        ("mbarrier.complete_tx.shared::cta.b64 [bar], 1048576;", "-1048576 transactions, beyond"),
        ("mbarrier.arrive.shared.b64 _, [bar+4];", "is not a multiple of the 8 bytes accessed"),
        ("mbarrier.arrive.b64 _, [%rd0];", "which is not in shared memory"),
        ("mbarrier.arrive.shared.b64 _, [bar+32];", "of shared memory, which has 32 bytes"),
    ],
)
def test_faults(body, part):
    with pytest.raises(KernelFault, match=re.escape(part)):
        one_thread(f"mbarrier.init.shared.b64 [bar], 2;\n{body}")


WAITS = {
    "try_wait": "WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0, 1000; @!%p1 bra WAIT;",
    "test_wait": "WAIT: mbarrier.test_wait.shared.b64 %p1, [bar], %rd3; nanosleep.u32 20; @!%p1 bra WAIT;",
    "with a clock": """mov.u64 %rd4, %globaltimer;
    WAIT: mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; @%p1 bra OUT;
    mov.u64 %rd5, %globaltimer; sub.u64 %rd5, %rd5, %rd4; shr.u64 %rd5, %rd5, 2; cvt.u32.u64 %r4, %rd5;
    nanosleep.u32 %r4; bra WAIT; OUT:""",
}


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("count", [64, 65])
def test_a_wait_ends_if_and_only_if_its_phase_does(wait, count):
    body = f"""{BARRIER}
    setp.ne.u32 %p0, %r0, 0;
    @!%p0 mbarrier.init.shared.b64 [bar], {count};
    bar.sync 0;
    mov.u32 %r5, 0; mov.u32 %r6, %tid.x; and.b32 %r6, %r6, 48;
    LATE: add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, %r6; @%p2 bra LATE;
    mbarrier.arrive.shared.b64 %rd3, [bar];
    {WAITS[wait]}
    st.global.u32 [%rd1], %r5;"""
    if count == 64:
        assert run(body, 64).tolist() == [max(1, t & 48) for t in range(64)]
        return
    missing = (
        r"mbarrier at byte 0 of shared memory, byte 0 of bar: 1 of 65 arrivals and 0 transactions are missing"
    )
    with pytest.raises(Deadlock, match=missing):
        run(body, 64)


@pytest.mark.parametrize(
    "signal",
    [
        "mbarrier.arrive.shared.b64 _, [bar];",
        "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];",
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 8; mbarrier.complete_tx.shared.b64 [bar], 8;",
    ],
)
def test_a_wait_that_comes_first_goes_on_after_the_last_signal(signal):
    body = f"""{BARRIER}
    setp.ne.u32 %p0, %r0, 0; @!%p0 mbarrier.init.shared.b64 [bar], 1; bar.sync 0;
    setp.ge.u32 %p0, %r0, 32; @%p0 bra LATER;
    WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra WAIT;
    st.global.u32 [%rd1], %r0; ret;
    LATER: setp.ne.u32 %p0, %r0, 63; @%p0 bra END; {signal} END:"""
    assert run(body, 64).tolist() == [*range(32), *[0] * 32]


COPIES = """
    setp.ne.u32 %p0, %r0, 0;
    @!%p0 mbarrier.init.shared.b64 [bar], 64;
    bar.sync 0;
    .shared .align 16 .b8 tile[256];
    mov.u32 %r2, tile; shl.b32 %r3, %r0, 2; add.u32 %r4, %r2, %r3;
    cp.async.ca.shared.global [%r4], [%rd1], 4;
    {arrive}
    WAIT: mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra WAIT;
    xor.b32 %r3, %r3, 252; add.u32 %r4, %r2, %r3; ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd1], %r5;"""


@pytest.mark.parametrize(
    ("arrive", "reports"),
    [
        ("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];", set()),
        ("cp.async.mbarrier.arrive.shared.b64 [bar]; mbarrier.arrive.shared.b64 _, [bar];", set()),
        ("mbarrier.arrive.shared.b64 _, [bar];", {"read of bytes that cp.async may still be copying"}),
    ],
)
def test_copies_arrive(arrive, reports):
    array = np.arange(64, dtype=np.uint32)
    result = kernel(BARRIER + COPIES.format(arrive=arrive)).launch(1, 64, [array], check=True, races=True)
    assert array.tolist() == list(range(63, -1, -1))
    assert {report.message.partition(":")[0] for report in result.reports} == reports


def test_a_race_that_no_arrival_orders():
    """The store after an arrival races with a load behind the wait for it."""
    for order, races in (("{store} {arrive}", 0), ("{arrive} {store}", 1)):
        steps = order.format(
            store="st.shared.u32 [bar+8], %r0;", arrive="mbarrier.arrive.shared.b64 _, [bar];"
        )
        body = f"""{BARRIER}
        setp.ne.u32 %p0, %r0, 0; @!%p0 mbarrier.init.shared.b64 [bar], 1; bar.sync 0;
        @%p0 bra NEXT; {steps} NEXT: setp.ne.u32 %p0, %r0, 32; @%p0 bra END;
        WAIT: mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra WAIT;
        ld.shared.u32 %r3, [bar+8]; st.global.u32 [%rd0], %r3; END:"""
        result = kernel(body).launch(1, 64, [np.zeros(64, np.uint32)], races=True)
        assert len(result.reports) == races


@pytest.mark.parametrize("name", ["pipelines_sm80.ptx", "pipelines_sm90.ptx"])
@pytest.mark.parametrize("options", [{}, {"check": True, "races": True}])
def test_pipelines_of_the_library(name, options):
    module = Module((KERNELS / name).read_text(), name)
    random = np.random.default_rng(7)

    def launch(entry, arguments, shared=0):
        assert module.kernel(entry).launch(1, 64, arguments, shared, **options).reports == ()
        return arguments[1]

    tiles = random.standard_normal((5, 64)).astype(np.float32)
    expected = np.zeros(64, np.float32)
    for tile in tiles:
        expected = expected * np.float32(0.5) + tile[::-1]
    found = launch("staged_sum", [tiles, np.zeros(64, np.float32), 5], 2 * 64 * 4)
    assert found.tobytes() == expected.tobytes()

    rounds = random.integers(0, 99, (6, 32), dtype=np.int32)
    total = np.zeros(32, np.int32)
    for values in rounds:
        total = total * 3 + values[np.arange(32) ^ 1]
    assert launch("producers_and_consumers", [rounds, np.zeros(32, np.int32), 6]).tolist() == total.tolist()

    words = random.integers(0, 99, 100, dtype=np.int32)
    found = launch("groups", [words, np.zeros(2, np.int32), 100], 400)
    assert found.tolist() == [words.sum(), 2 * words.sum()]
    if "counted" not in module.entries:
        return
    quads = random.integers(0, 99, (64, 4), dtype=np.int32)
    sums = quads[::-1, 0] + quads[np.arange(64) ^ 5, 3]
    for _ in range(3):
        sums[:32] += np.roll(sums[:32], -1)
    assert launch("counted", [quads, np.zeros(64, np.int32)]).tolist() == sums.tolist()
