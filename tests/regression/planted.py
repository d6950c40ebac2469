"""Defects that a worker of the fuzzing suite puts into the project before its first input."""

import os
import time
from unittest import mock

import numpy as np

from golden.ptx.source import Source


def _in_device(defect):
    mock.patch("golden.simt.buffers.host_array", side_effect=defect).start()


def raises():
    """A check that is missing."""
    _in_device(lambda array: {}["missing"])


def hangs():
    """A loop without an end."""

    def loop(array):
        while True:
            pass

    _in_device(loop)


def waits():
    """A wait for what never comes."""
    _in_device(lambda array: time.sleep(1000))


def eats_memory():
    """Memory for a size that nobody has checked."""
    _in_device(lambda array: [np.empty(1 << 24) for _ in range(1 << 20)])


def kills():
    """A crash of the process."""
    _in_device(lambda array: os.abort())


def gives_another_result_each_time():
    """A result that depends on something else than the input."""
    _in_device(lambda array: np.array(time.perf_counter()))


def ignores_byte_order():
    """Big-endian arrays taken for little-endian ones."""
    _in_device(lambda array: np.asarray(array).view(np.asarray(array).dtype.newbyteorder("=")))


def shares_a_buffer():
    """Device memory that two threads use at once."""
    last = []

    def shared(array):
        last.append(np.asarray(array))
        time.sleep(0.05)
        return last[-1]

    _in_device(shared)


def confuses_xor():
    """An instruction that is not what the manual says."""
    _in_text("xor.", "or.")


def ignores_guards():
    """Predicates that are not obeyed."""
    _in_text("@%p ", "")


def _in_text(old, new):
    mock.patch("golden.simt.module.Source", lambda text, name: Source(text.replace(old, new), name)).start()
