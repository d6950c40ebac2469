"""Memories whose users keep reading and writing apart."""

from amaranth.hdl import ShapeLike
from amaranth.lib.memory import Memory


def collision_free_memory(shape: ShapeLike, depth: int, *, in_blocks: bool = False) -> Memory:
    """Make a memory from which nobody uses what is read where something is written in the same cycle.

    Block RAM with a port for each has no defined result then. A `Memory` has one, the old content, for which
    synthesis adds a register for what is written, a comparator of the addresses and a multiplexer behind the
    block RAM, the start of many a critical path. The attribute ``no_rw_check`` of yosys says that nobody
    needs it. Simulated, such a memory is like any other; `tests/sim/test_sim_collisions.py` runs the core
    with memories that answer a collision with arbitrary bits.

    Parameters
    ----------
    shape : shape-like
        Of a row.
    depth : int
        Rows.
    in_blocks : bool
        Whether it is in block RAM however few its rows are. Synthesis would make some of these out of look-up
        tables, of which an FPGA has few that can be memories, and a row as wide as a word of registers takes
        a hundred and more.
    """
    style = {"ram_style": "block"} if in_blocks else {}
    return Memory(shape=shape, depth=depth, init=[], attrs={"no_rw_check": 1, **style})
