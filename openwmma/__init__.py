"""openwmma: an open tensor core, its golden model, its simulation and its boards.

Every name is loaded on first use from the module that implements it, so that the import itself costs
nothing.
"""

from typing import TYPE_CHECKING

from golden.first_use import loaded_on_first_use

if TYPE_CHECKING:
    from boards.boards import BOARDS
    from boards.flow.flow import build_board
    from boards.host.board_machine import BoardMachine, open_board
    from golden.approximation.call import approximate
    from golden.explanation.explain import explain
    from golden.fragments import collect, distribute, fragment_layout
    from golden.machine import Difference, Machine
    from golden.memory import Memory
    from golden.multiply import mma
    from golden.programs.gemm import Gemm, multiply_matrices
    from golden.programs.tiles import multiply_tiles
    from golden.simt.buffers import DeviceBuffer, device, empty
    from golden.simt.errors import KernelFault, LaunchError
    from golden.simt.tensor_map import TensorMap, tensor_map
    from golden.tables.faults import Fault
    from golden.warp import GoldenMachine
    from hdl.config import PRESETS, CoreConfig
    from openwmma.launch_repeat import read_launches
    from openwmma.launching import KernelRun
    from openwmma.matrix_product import matmul
    from openwmma.modules import Kernel, Module
    from openwmma.product_match import MatmulMatch, match_matmul
    from openwmma.target import open_on_board
    from openwmma.verilog_files import write_verilog
    from openwmma.version import __version__
    from sim.lockstep import LockstepMachine
    from sim.machines import Backend, open_machine
    from sim.rtl_machine import RtlMachine
    from sim.testbench.reference import golden_machine

__all__ = [
    "BOARDS",
    "PRESETS",
    "Backend",
    "BoardMachine",
    "CoreConfig",
    "DeviceBuffer",
    "Difference",
    "Fault",
    "Gemm",
    "GoldenMachine",
    "Kernel",
    "KernelFault",
    "KernelRun",
    "LaunchError",
    "LockstepMachine",
    "Machine",
    "MatmulMatch",
    "Memory",
    "Module",
    "RtlMachine",
    "TensorMap",
    "__version__",
    "approximate",
    "build_board",
    "collect",
    "device",
    "distribute",
    "empty",
    "explain",
    "fragment_layout",
    "golden_machine",
    "match_matmul",
    "matmul",
    "mma",
    "multiply_matrices",
    "multiply_tiles",
    "open_board",
    "open_machine",
    "open_on_board",
    "read_launches",
    "tensor_map",
    "write_verilog",
]

__getattr__, __dir__ = loaded_on_first_use(__name__)
