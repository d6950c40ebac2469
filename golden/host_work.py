"""What the host does to the registers of a machine between its commands."""

import numpy as np

from golden.elementwise import execute_elementwise
from golden.invalid_argument import InvalidArgument
from golden.machine import Machine
from golden.tables.commands import Elementwise, HostWork, SetLanes
from golden.tables.layouts import LANES

__all__ = ["execute_host_work"]


def execute_host_work(machine: Machine, work: HostWork) -> None:
    """Do the host's work on a machine.

    Parameters
    ----------
    machine : Machine
        Idle; only its registers are touched.
    work : Elementwise or SetLanes

    Raises
    ------
    InvalidArgument
        As `golden.elementwise.execute_elementwise` does; for another number of values than there are lanes, a
        value wider than a register, and a register that the machine does not have. Nothing is written.
    """
    if isinstance(work, Elementwise):
        execute_elementwise(machine, work)
    else:
        _set_lanes(machine, work)


def _set_lanes(machine: Machine, work: SetLanes) -> None:
    if len(work.values) != LANES:
        raise InvalidArgument("values", f"{len(work.values)} values", f"{LANES}, one for each lane")
    for value in work.values:
        if not 0 <= value < 1 << 32:
            raise InvalidArgument("values", f"{value:#x}", "32-bit patterns")
    machine.write_registers(work.register, np.array([work.values], dtype=np.uint32))
