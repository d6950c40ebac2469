"""Run `test_tile` on a core, by default under Icarus Verilog: ``python run.py core.v [SIMULATOR]``."""

import os
import sys
from pathlib import Path

from cocotb_tools.runner import get_results, get_runner

core = Path(sys.argv[1]).resolve()
os.environ["CORE_JSON"] = str(core.with_suffix(".json"))
runner = get_runner(sys.argv[2] if len(sys.argv) > 2 else "icarus")
build = core.parent / "sim_build"
runner.build(sources=[core], hdl_toplevel="openwmma_core", build_dir=build, timescale=("1ns", "1ps"))
sys.path.insert(0, str(Path(__file__).parent))
results = runner.test(test_module="test_tile", hdl_toplevel="openwmma_core", build_dir=build)
sys.exit(get_results(results)[1] > 0)
