"""What passes between the loads and stores and the memories."""

from amaranth.hdl import Module, Signal, Value, unsigned
from amaranth.lib import data

from hdl.config import REGISTER_BITS, CoreConfig
from hdl.memory.fragment_geometry import FragmentGeometry

CAUSE_BITS = 4
"""Bits of a `golden.tables.faults.Cause`; zero stands for success."""

EARLY_BITS = 7
"""The lowest bits of an access, from which the length of a burst follows: to `FragmentGeometry.line_log2`."""

STRIDE_BITS = 35
"""Bits of a stride in bytes: 32 bits of elements of up to eight bytes."""


def access_layout(config: CoreConfig) -> data.StructLayout:
    """One load or store, checked: it is legal, aligned, and within the registers and the address width.

    Members
    -------
    contiguous : unsigned(1)
        Each line begins where the one before ends, so all are one run of bytes.
    geometry : FragmentGeometry
    register : unsigned(REGISTER_BITS)
        First register of the fragment.
    space : unsigned(2)
        Index into `golden.tables.instruction_set.SPACES`.
    address : unsigned(address_bits)
        Byte address of the first line, as the instruction gave it: in ``.shared`` it counts from the first
        byte of the on-chip memory. A multiple of 4 at least.
    stride : unsigned(STRIDE_BITS)
        Bytes from one line to the next, likewise. Lines may overlap or be the same bytes.
    listed : unsigned(1)
        The lines are rows of matrices, each with an address of its own from `hdl.memory.row_addresses`;
        `address` is zero, and `stride` a multiple of 16.
    """
    return data.StructLayout(
        {
            "contiguous": unsigned(1),
            "geometry": FragmentGeometry,
            "register": unsigned(REGISTER_BITS),
            "space": unsigned(2),
            "address": unsigned(config.address_bits),
            "stride": unsigned(STRIDE_BITS),
            "listed": unsigned(1),
        }
    )


def space_burst_layout(config: CoreConfig) -> data.StructLayout:
    """One burst of consecutive beats, each of `beat_quads` quads, that does not cross a multiple of 4 KiB.

    Members
    -------
    space : unsigned(2)
        As in `access_layout`; which memory a generic address means is found out by the memory port.
    address : unsigned(address_bits)
        Of the first beat, a multiple of its size.
    length : unsigned(8)
        Beats less one.
    """
    return data.StructLayout(
        {"space": unsigned(2), "address": unsigned(config.address_bits), "length": unsigned(8)}
    )


def read_beat_layout(config: CoreConfig) -> data.StructLayout:
    """The bytes of a beat from a memory.

    Members
    -------
    data : unsigned(128 * beat_quads)
        The byte of the lowest address in the low bits.
    response : unsigned(2)
        A `hdl.memory.axi.Response`.
    last : unsigned(1)
        The last beat of its burst.
    """
    return data.StructLayout({"data": 128 * config.beat_quads, "response": 2, "last": 1})


def write_beat_layout(config: CoreConfig) -> data.StructLayout:
    """The bytes of a beat for a memory, and which of them count.

    Members
    -------
    data : unsigned(128 * beat_quads)
    strb : unsigned(16 * beat_quads)
    """
    quads = config.beat_quads
    return data.StructLayout({"data": 128 * quads, "strb": 16 * quads})


def is_last_beat(m: Module, length: Value, *, begin: Value, step: Value) -> Signal:
    """A register that says whether the next beat of a burst, or the next line of an access, is the last.

    Parameters
    ----------
    m : Module
    length : Value
        Beats of a burst, or lines of an access, less one.
    begin : Value
        In this cycle the register begins with `length`; the last beat or line before may pass in it.
    step : Value
        In this cycle a beat or line passes.
    """
    left = Signal.like(length, name="left", reset_less=True)
    is_last = Signal()
    with m.If(step):
        m.d.sync += [left.eq(left - 1), is_last.eq(left == 1)]
    with m.If(begin):
        m.d.sync += [left.eq(length), is_last.eq(length == 0)]
    return is_last
