"""What a profile lacks."""

import numpy as np
import pytest
from captured import module, prepare

from golden.simt import LaunchError
from golden.simt.grid import GoldenEngine
from golden.tables.profiles import PROFILES


def test_what_a_profile_lacks_is_said_before_anything_runs():
    prepared = prepare("families.gemm_tf32")
    before = {name: buffer.numpy() for name, buffer in prepared.buffers.items()}
    kernel = module("families.gemm_tf32").kernel("gemm_tf32")
    with pytest.raises(LaunchError, match=r"turing, which has no tf32.*, needed at families\.ptx:\d+: "):
        kernel.launch(1, 32, prepared.arguments, engine=GoldenEngine(PROFILES["turing"]))
    for name, buffer in prepared.buffers.items():
        assert np.array_equal(buffer.numpy().view(np.uint8), before[name].view(np.uint8))
