"""Runs whole PTX kernels: grids of blocks of threads on the host, their matrix instructions on a machine.

`Module` loads a file, `Module.kernel` selects an entry, `Kernel.launch` runs it. `device` and `empty`
make buffers that live from launch to launch.
"""

from golden.simt.buffers import DeviceBuffer, device, empty
from golden.simt.check_records import Report
from golden.simt.errors import Deadlock, KernelFault, LaunchError, SimtError, StepLimit
from golden.simt.grid import LaunchResult
from golden.simt.module import Kernel, Module

__all__ = [
    "Deadlock",
    "DeviceBuffer",
    "Kernel",
    "KernelFault",
    "LaunchError",
    "LaunchResult",
    "Module",
    "Report",
    "SimtError",
    "StepLimit",
    "device",
    "empty",
]
