"""cocotb testbenches: one module for each unit of hdl, started by pytest through `sim.testbench.runner`."""

import gc
import os

if "COCOTB_TEST_MODULES" in os.environ:
    # A simulation makes many short-lived objects and few cycles of them: look for those seldom.
    gc.set_threshold(100_000)
