"""Device memory, modules and kernels in several Python threads at once."""

import gc
import itertools
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import openwmma
from golden.simt.buffers import device
from golden.simt.device_memory import DeviceMemory
from golden.simt.module import Module

THREADS = 8

COUNT = """
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 launches;
.visible .entry count(.param .u64 x, .param .u32 step)
{
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    ld.param.u32 %r1, [step];
    mov.u32 %r2, 0;
LOOP:
    atom.global.add.u32 %r3, [launches], 1;
    ld.global.u32 %r4, [%rd1];
    add.u32 %r4, %r4, %r1;
    st.global.u32 [%rd1], %r4;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p, %r2, 20;
    @%p bra LOOP;
    ret;
}
"""


@pytest.fixture(autouse=True)
def quick_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work):
    """Start a function in all threads at one moment, each with its number; what they return."""
    barrier = threading.Barrier(THREADS)

    def run(number):
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def test_concurrent_buffers_share_no_address():
    memory = DeviceMemory()

    def allocate(number):
        return [memory.allocate(16 + number, f"{number}") for _ in range(200)]

    found = [allocation for some in together(allocate) for allocation in some]
    spans = sorted((allocation.address, allocation.end) for allocation in found)
    assert len(spans) == THREADS * 200
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    assert all(memory.find(allocation.address + 8) is allocation for allocation in found)


def test_buffers_are_found_while_others_come_and_go():
    memory = DeviceMemory()

    def churn(number):
        mine = memory.allocate(64, f"own {number}")
        for step in range(200):
            other = memory.allocate(32, "other")
            assert memory.find(mine.address + step % 64) is mine
            assert memory.find(other.address) is other
            memory.free(other)
            assert memory.find(other.address) is None
            assert "which has been freed" in memory.describe(other.address)
            assert memory.describe(mine.address).startswith(f"byte 0 of own {number}")
        return mine

    assert sorted(item.address for item in together(churn)) == [item.address for item in memory.allocations]


def test_the_collector_may_free_buffers_in_the_middle_of_a_change():
    memory = DeviceMemory()
    before = gc.get_threshold()
    gc.set_threshold(1)
    try:

        def cycles(number):
            for step in range(60):
                cycle = [device(np.full(4, step + number), memory=memory)]
                cycle.append(cycle)

        together(cycles)
    finally:
        gc.set_threshold(*before)
    gc.collect()
    memory.allocate(1, "last")
    assert [item.name for item in memory.allocations] == ["last"]


def test_a_module_compiles_a_kernel_once():
    module = Module(COUNT)
    kernels = together(lambda number: (module.kernel("count"), module["launches"]))
    assert len({id(kernel) for kernel, _ in kernels}) == 1
    assert len({id(buffer) for _, buffer in kernels}) == 1


def test_launches_of_one_kernel_at_once():
    module = openwmma.Module(COUNT)

    def launch(number):
        x = np.zeros(1, np.uint32)
        for _ in range(5):
            module.kernel().launch(1, 1, [x, number + 1])
        return int(x[0])

    assert together(launch) == [100 * (number + 1) for number in range(THREADS)]
    assert module["launches"].numpy() == THREADS * 100


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_process_finds_no_lock_held_by_a_thread_it_does_not_have():
    memory = DeviceMemory()
    done = threading.Event()

    def churn():
        while not done.is_set():
            memory.free(memory.allocate(16))

    threads = [threading.Thread(target=churn) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                memory.allocate(16)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        done.set()
        for thread in threads:
            thread.join()
