"""openwmma: an open tensor core, its golden model, its simulation and its boards.

Every name is loaded on first use from the module that implements it, so that the import itself costs
nothing.
"""

from typing import TYPE_CHECKING

from golden.first_use import loaded_on_first_use

if TYPE_CHECKING:
    from boards.boards import BOARDS as BOARDS
    from boards.flow.flow import build_board as build_board
    from boards.host.board_machine import BoardMachine as BoardMachine
    from boards.host.board_machine import open_board as open_board
    from golden.approximation.call import approximate as approximate
    from golden.explanation.explain import explain as explain
    from golden.fragments import collect as collect
    from golden.fragments import distribute as distribute
    from golden.fragments import fragment_layout as fragment_layout
    from golden.machine import Difference as Difference
    from golden.machine import Machine as Machine
    from golden.memory import Memory as Memory
    from golden.multiply import mma as mma
    from golden.programs.gemm import Gemm as Gemm
    from golden.programs.gemm import multiply_matrices as multiply_matrices
    from golden.programs.tiles import multiply_tiles as multiply_tiles
    from golden.simt.buffers import DeviceBuffer as DeviceBuffer
    from golden.simt.buffers import device as device
    from golden.simt.buffers import empty as empty
    from golden.simt.errors import KernelFault as KernelFault
    from golden.simt.errors import LaunchError as LaunchError
    from golden.simt.tensor_map import TensorMap as TensorMap
    from golden.simt.tensor_map import tensor_map as tensor_map
    from golden.tables.faults import Fault as Fault
    from golden.warp import GoldenMachine as GoldenMachine
    from hdl.config import PRESETS as PRESETS
    from hdl.config import CoreConfig as CoreConfig
    from openwmma.launch_repeat import read_launches as read_launches
    from openwmma.launching import KernelRun as KernelRun
    from openwmma.matrix_product import matmul as matmul
    from openwmma.modules import Kernel as Kernel
    from openwmma.modules import Module as Module
    from openwmma.product_match import MatmulMatch as MatmulMatch
    from openwmma.product_match import match_matmul as match_matmul
    from openwmma.target import open_on_board as open_on_board
    from openwmma.verilog_files import write_verilog as write_verilog
    from openwmma.version import __version__ as __version__
    from sim.lockstep import LockstepMachine as LockstepMachine
    from sim.machines import Backend as Backend
    from sim.machines import open_machine as open_machine
    from sim.rtl_machine import RtlMachine as RtlMachine
    from sim.testbench.reference import golden_machine as golden_machine

__getattr__, __dir__ = loaded_on_first_use(__name__)
