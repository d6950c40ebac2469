"""Memories whose users keep reading and writing apart."""

from amaranth.hdl import ShapeLike
from amaranth.lib.memory import Memory


def collision_free_memory(shape: ShapeLike, depth: int, *, style: str = "") -> Memory:
    """Make a memory whose read data is unused where the same address is written in the same cycle.

    Block RAM with separate ports has no defined result then. A `Memory` gives the old content, for which
    synthesis adds a register of the written data, a comparator of the addresses and a multiplexer behind the
    block RAM, on many a critical path. The attribute ``no_rw_check`` of yosys says that no user needs
    it. Simulated, such a memory is like any other; `tests/sim/test_sim_collisions.py` runs the core
    with memories that answer a collision with arbitrary bits.

    Parameters
    ----------
    shape : shape-like
        Of a row.
    depth : int
        Rows.
    style : str
        ``block`` for block RAM however few its rows are, ``distributed`` for look-up tables. Otherwise
        synthesis chooses.
    """
    attributes = {"no_rw_check": 1, **({"ram_style": style} if style else {})}
    return Memory(shape=shape, depth=depth, init=[], attrs=attributes)
