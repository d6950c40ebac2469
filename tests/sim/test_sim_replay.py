"""Traces executed on machines: captured launches, hazards between warps, and what differs."""

import io
import sys
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from golden.machine import Difference
from golden.memory import Memory
from golden.simt import LaunchError
from golden.simt.trace_file import TraceReader
from golden.simt.trace_recorder import TraceRecorder
from golden.tables.commands import Load, LoadMatrix, Mma, MoveMatrix, Store, StoreMatrix, Wgmma
from golden.tables.instruction_set import CORE_FAMILIES, WGMMA_FAMILIES
from golden.warp import GoldenMachine
from hdl.config import PRESETS
from sim.replay.addresses import memory_bytes
from sim.replay.replay import Player
from sim.replay.replayer import Replayer
from sim.rtl_machine import RtlMachine
from sim.testbench.reference import golden_machine

sys.path.insert(0, str(Path(__file__).parents[1] / "golden" / "simt"))
from captured import cases, module, prepare
from short_kernels import MOVES, SINKS, launch_sinks
from short_kernels import kernel as short_kernel

BASE = 0x1000


class Shuffled(GoldenMachine):
    """Executes commands of different warps in any order, as late as it may."""

    def __init__(self, *, seed=1, **options):
        super().__init__(**options)
        self.random = np.random.default_rng(seed)
        self.waiting = [[] for _ in range(self.warp_count)]

    def queue(self, work):
        for command in work:
            self.waiting[command.warp].append(command)
            if self.random.integers(3) == 0:
                self.step()

    def step(self):
        warps = [warp for warp, commands in enumerate(self.waiting) if commands]
        if warps:
            self.execute(self.waiting[self.random.choice(warps)].pop(0))
        return bool(warps)

    def finish(self):
        while self.step():
            pass


def trace_of(launch):
    file = io.BytesIO()
    launch(TraceRecorder(file, "hopper"))
    file.seek(0)
    return TraceReader(file)


def captured_trace(name):
    prepared = prepare(name)
    case = prepared.case
    kernel = module(name).kernel(case["entry"])
    options = case["grid"], case["block"], prepared.arguments, case["shared"]
    trace = trace_of(lambda trace: kernel.launch(*options, trace=trace))
    assert prepared.differences() == {}
    return trace, prepared.buffers


def machine_for(trace, kind=GoldenMachine, registers=64, **options):
    memory = Memory(memory_bytes(trace.segments, BASE), BASE)
    return kind(registers=registers, memory=memory, shared=Memory(1 << 18, 1 << 20), **options)


def replay(trace, machine, **options):
    replayer = Replayer(machine, machine, trace, **options)
    return replayer, replayer.run()


def stores_of(machine):
    """The addresses of what a machine will store."""
    addresses = set()
    store = machine._store
    machine._store = lambda command: (addresses.add(command.address), store(command))
    return addresses


QUICK = (
    *("single_warp.gemm_tile", "multi_warp.scores_softmax", "sub_byte.bits_and", "families.gemm_f64"),
    *("library.gemm_structure", "library.mixed_fragments", "mma_sync.igemm", "triton.matmul_s8"),
)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in cases()]
)
def test_memory_is_that_of_the_launch(name):
    trace, buffers = captured_trace(name)
    for options in ({}, {"warps": 3, "registers": 40}):
        machine = machine_for(trace, Shuffled, **options)
        addresses = stores_of(machine)
        replayer, counters = replay(trace, machine)
        assert counters.instructions == machine.counters.instructions
        stored = 0
        for buffer in buffers.values():
            place = replayer._addresses.place(buffer.address, buffer.address + buffer.allocation.nbytes)
            for address in addresses if place is not None else ():
                offset = address - BASE - place.offset
                if 0 <= offset < buffer.allocation.nbytes:  # the first elements of each matrix that is stored
                    found = machine.memory.read(address, 8)
                    stored += 1
                    assert found.tobytes() == buffer.allocation.bytes[offset : offset + 8].tobytes()
        assert stored or not name.startswith(("single_warp", "families"))


def test_a_machine_with_wgmma_executes_shares_and_others_their_tiles():
    trace, _ = captured_trace("hopper.gemm_f16_64x64x64")
    counts = []
    for families in (CORE_FAMILIES, CORE_FAMILIES + WGMMA_FAMILIES):
        machine = machine_for(trace, Shuffled, warps=4, registers=256, families=families)
        executed = []
        execute = machine.execute
        machine.execute = lambda command, run=execute, seen=executed: (
            seen.append(type(command)),
            run(command),
        )
        replay(trace, machine)
        counts.append([executed.count(kind) for kind in (Wgmma, Mma)])
    (none, tiles), (shares, others) = counts
    assert (none, others) == (0, 0)
    assert tiles == 8 * shares > 0


WARPS, STEPS, ARENA = 8, 6, 8192
TABLE = WARPS * STEPS * 16
ACCESSES = f"""
    .shared .align 128 .b8 arena[{ARENA}];
    shr.u32 %r1, %r0, 5; mul.lo.u32 %r2, %r1, {16 * STEPS}; cvt.u64.u32 %rd2, %r2; add.u64 %rd2, %rd0, %rd2;
    add.u64 %rd6, %rd0, {TABLE}; mov.u32 %r10, 0;
    mov.u32 %r7, arena; cvt.u64.u32 %rd7, %r7; cvta.shared.u64 %rd7, %rd7;
    NEXT: ld.global.v4.u32 {{%r3, %r4, %r5, %r6}}, [%rd2];
    and.b32 %r8, %r6, 1; setp.ne.u32 %p0, %r8, 0; selp.b64 %rd8, %rd7, %rd6, %p0;
    and.b32 %r8, %r6, 2; setp.ne.u32 %p0, %r8, 0; selp.b64 %rd9, %rd7, %rd6, %p0;
    and.b32 %r8, %r6, 4; setp.ne.u32 %p0, %r8, 0; selp.b64 %rd10, %rd7, %rd6, %p0;
    cvt.u64.u32 %rd3, %r3; add.u64 %rd3, %rd8, %rd3;
    wmma.load.c.sync.aligned.row.m16n16k16.f32 {{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}}, [%rd3], 24;
    cvt.u64.u32 %rd4, %r4; add.u64 %rd4, %rd9, %rd4;
    wmma.load.a.sync.aligned.row.m16n16k16.f16
        {{%r12, %r13, %r14, %r15, %r16, %r17, %r18, %r19}}, [%rd4], 24;
    wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 {{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}},
        {{%r12, %r13, %r14, %r15, %r16, %r17, %r18, %r19}},
        {{%r12, %r13, %r14, %r15, %r16, %r17, %r18, %r19}},
        {{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}};
    wmma.store.d.sync.aligned.row.m16n16k16.f32 [%rd4], {{%f7, %f0, %f1, %f2, %f3, %f4, %f5, %f6}}, 16;
    cvt.u64.u32 %rd5, %r5; add.u64 %rd5, %rd10, %rd5;
    st.u32 [%rd5], %r6;
    add.u64 %rd2, %rd2, 16; add.u32 %r10, %r10, 1; setp.lt.u32 %p0, %r10, {STEPS}; @%p0 bra NEXT;
"""
"""Each warp takes steps of a table: it loads two matrices, multiplies, stores the result in another order
over one of them, and changes a word. Each is in global or in shared memory."""


def launch_accesses(seed, trace):
    random = np.random.default_rng(seed)
    words = random.integers(0, 1 << 32, (TABLE + ARENA) // 4, dtype=np.uint32) & np.uint32(0x3BFF3BFF)
    table = words[: TABLE // 4].reshape(-1, 4)
    table[:, :2] = 32 * random.integers(0, (ARENA - 24 * 64) // 32, (len(table), 2))
    table[:, 2] = 4 * random.integers(0, ARENA // 4, len(table))
    table[:, 3] = random.integers(0, 8, len(table)) + 8 * np.arange(len(table))
    short_kernel(ACCESSES).launch(1, 32 * WARPS, [words], trace=trace)


@pytest.mark.parametrize("core", ["small", pytest.param("standard", marks=pytest.mark.long)])
def test_a_core_leaves_what_golden_leaves(core):
    """Random accesses of eight warps, streamed on the RTL."""
    for seed in range(3 if core == "small" else 30):
        config = replace(PRESETS[core], warps=1 if core == "small" else (1, 2, 8)[seed % 3])
        trace = trace_of(partial(launch_accesses, seed))
        counters = Player(config, lambda size, of=config: closing(RtlMachine(of, Memory(size, BASE)))).play(
            trace
        )
        assert counters.instructions >= 4 * WARPS * STEPS
        assert counters.waits > 10


@given(st.integers(0, 1 << 30), st.sampled_from([1, 2, 4, 8]), st.sampled_from([24, 40, 64]))
@settings(max_examples=12)
def test_overlapping_commands_leave_what_serial_ones_leave(seed, warps, registers):
    trace = trace_of(partial(launch_accesses, seed))
    machines = []
    for serial, kind in ((True, GoldenMachine), (False, Shuffled)):
        machine = machine_for(trace, kind, warps=warps, registers=registers)
        _, counters = replay(trace, machine, serial=serial)
        assert counters.instructions >= 4 * WARPS * STEPS
        machines.append(machine)
    for name in ("memory", "shared"):
        ours, theirs = (getattr(machine, name).data for machine in machines)
        first = 1 << 18 if name == "memory" else 0  # behind the contents that were pushed
        np.testing.assert_array_equal(ours[first:], theirs[first:])


def test_warps_of_a_block_are_dealt_out_to_those_of_the_machine():
    trace, _ = captured_trace("multi_warp.scores_softmax")
    machine = machine_for(trace, warps=3)
    replay(trace, machine)
    assert all(machine.executed(warp) for warp in range(3))


def test_fragments_stay_in_registers():
    trace, _ = captured_trace("single_warp.gemm_tile")
    for registers, most in ((64, 0), (24, 20)):
        _, counters = replay(trace, machine_for(trace, registers=registers))
        assert counters.reloads <= most
    with pytest.raises(LaunchError, match="do not fit 16 registers of a warp"):
        replay(trace, machine_for(trace, registers=16))


def test_moves_of_matrices_are_commands_of_the_machine():
    given = np.random.default_rng(2).integers(0, 1 << 16, (2, 4, 8, 8), dtype=np.uint16)
    trace = trace_of(lambda trace: short_kernel(MOVES).launch(1, 64, [given], trace=trace))
    machine = machine_for(trace)
    executed = []
    execute = machine.execute
    machine.execute = lambda work: (executed.append(type(work)), execute(work))
    replay(trace, machine)
    assert [executed.count(kind) for kind in (LoadMatrix, StoreMatrix, MoveMatrix)] == [4, 2, 2]
    without = GoldenMachine(memory=Memory(1 << 20, BASE))
    replay(trace, without)
    assert without.counters.instructions == 0


FORMATS = [{"f16"}, {"bf16"}, {"i8"}, {"tf32"}, {"f16", "f64"}]
OF_FORMATS = {"f16": "f32.f16.f16.f32", "i8": "s32.s8.s8.s32", "f64": "f64.f64"}


@pytest.mark.parametrize("formats", FORMATS, ids=lambda formats: "+".join(sorted(formats)))
def test_contents_come_in_whatever_way_a_machine_has(formats):
    """Operands of which no load of the kernel has the bits, with a machine of few formats."""
    ran = 0
    for name in SINKS:
        if any(format in formats and part in name for format, part in OF_FORMATS.items()):
            trace = trace_of(lambda trace, name=name: launch_sinks(name, {1}, trace=trace))
            replay(trace, machine_for(trace, formats=formats))
            ran += 1
    assert ran or formats & {"bf16", "tf32"}


class Wrong(GoldenMachine):
    """A machine with one wrong bit in what it multiplies, loads or stores."""

    kind = Mma

    def execute(self, work):
        super().execute(work)
        if not isinstance(work, self.kind):
            return
        if isinstance(work, Store):
            self.memory.write(work.address, self.memory.read(work.address, 1) ^ np.uint8(1))
        else:
            first = work.d if isinstance(work, Mma) else work.register
            self.write_registers(
                first, self.read_registers(first, 1, warp=work.warp) ^ np.uint32(1), warp=work.warp
            )


def player(machine_class, preset="small", **options):
    def opened(size):
        machine = golden_machine(PRESETS[preset], Memory(size, BASE))
        machine.__class__ = type("Machine", (machine_class,), options)
        return closing(machine)

    return Player(PRESETS[preset], opened, name=f"preset {preset}")


@pytest.mark.parametrize("kind", [Mma, Load, Store])
def test_a_difference_names_the_line_of_the_kernel(kind):
    """The first entry at fault, although all overlap before anything is compared."""
    trace, _ = captured_trace("single_warp.wmma_ker")
    line = rf"single_warp\.ptx:\d+: wmma\.{kind.__name__.lower()}.*row 0, column \d of"
    with pytest.raises(Difference, match=line):
        player(Wrong, kind=kind).play(trace)


class WrongTogether(Wrong):
    """A machine that errs only where commands may overlap."""

    def execute(self, work):
        GoldenMachine.execute(self, work)

    def queue(self, work):
        for command in work:
            super().execute(command)


def test_a_difference_of_overlapping_commands_alone_is_told_as_such():
    trace, _ = captured_trace("single_warp.wmma_ker")
    with pytest.raises(
        Difference, match=r"single_warp\.ptx:\d+: .* each command ends before the next begins"
    ):
        player(WrongTogether, kind=Mma).play(trace)


def test_a_trace_for_another_core_is_refused():
    trace, _ = captured_trace("families.gemm_f64")
    tiny = player(GoldenMachine, "tiny")
    with pytest.raises(LaunchError, match=r"^preset tiny has no \.f64 multiply, needed by the trace of gemm"):
        tiny.play(trace)
    trace.head = trace.head._replace(shared_bytes=1 << 20)
    with pytest.raises(LaunchError, match="needs 1048576 bytes of shared memory, but preset tiny has 0"):
        tiny.play(trace)
    trace.head = trace.head._replace(profile="turing")
    with pytest.raises(LaunchError, match="has profile turing, preset tiny hopper"):
        tiny.play(trace)


def test_a_refused_command_names_the_line_of_the_kernel():
    trace, _ = captured_trace("single_warp.wmma_ker")
    machine = machine_for(trace, formats={"bf16"})
    with pytest.raises(Difference, match=r"single_warp\.ptx:\d+: .*golden executed it, the core faulted"):
        Replayer(machine, machine_for(trace), trace, serial=True).run()
