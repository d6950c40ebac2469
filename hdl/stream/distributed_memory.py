"""Memories in look-up tables."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, ShapeLike, Value
from amaranth.lib.memory import Memory, ReadPort, WritePort

_TABLE_BITS = 4
"""Of the address of a look-up table that is a memory."""


def distributed_memory(
    m: Module, name: str, shape: ShapeLike, *, write: Value, reads: Sequence[Value]
) -> tuple[WritePort, list[ReadPort]]:
    """Add a memory with a write port and combinational read ports.

    16 words of 4 bits take six look-up tables of an ECP5; two words take four as registers, chosen between.

    Parameters
    ----------
    m : Module
    name : str
        Of the submodule.
    shape : shape-like
        Of a word.
    write, reads : Value
        Indices of the words that the ports write and read, all of the same width.
    """
    depth = 1 << len(table_address(write))
    style = {"ram_style": "registers"} if depth == 2 else {}
    m.submodules[name] = memory = Memory(shape=shape, depth=depth, init=[], attrs=style)
    write_port = memory.write_port()
    read_ports = [memory.read_port(domain="comb") for _ in reads]
    for port, index in zip([write_port, *read_ports], [write, *reads], strict=True):
        m.d.comb += port.addr.eq(table_address(index))
    return write_port, read_ports


def table_address(index: Value) -> Value:
    """The address of a word in a memory of look-up tables, which has 16 words at least; two are registers.

    Of fewer words, the highest bit of the index goes to all address inputs that are left: a constant there
    would come from one place of an ECP5, through one net for the whole design.
    """
    return index if len(index) == 1 else Cat(index, index[-1:].replicate(max(0, _TABLE_BITS - len(index))))
