"""Block scales: the bytes of a register that rows of A and columns of B take."""

from typing import Any, Final

from amaranth.hdl import Array, Cat, Module, Mux, Value, unsigned
from amaranth.lib import data

from hdl.config import REGISTER_BITS, CoreConfig
from hdl.dot_product.operands import DotProductOperands, operand_layout
from hdl.omma.widths import GROUPS, SCALE
from hdl.registers.register_ports import LANE_BITS, QUAD_BITS
from hdl.stream.pipeline import register

ONE: Final = 127
"""The ue8m0 of a multiply without scales."""

_LANES: Final = QUAD_BITS // LANE_BITS

SCALES: Final = ("scale_a", "scale_b")


class ScaleRequest(data.Struct):
    """Whose scales are asked for; the register exists, and the instruction has the selectors."""

    register: unsigned(REGISTER_BITS)
    byte: unsigned(2)
    thread: unsigned(2)


def scale_bits(config: CoreConfig) -> int:
    """Bits of the scales of a row: a byte for all k, or one for each group of a sum of groups."""
    return SCALE * (GROUPS if config.mxf4 else 1)


def unit_operands(config: CoreConfig) -> type[DotProductOperands] | data.StructLayout:
    """What goes to each unit of a core: `operand_layout`, but with `scale_bits` for each scale.

    Where there are units for sums of groups, `is_group` says that the operation is one, from a register.
    """
    layout = operand_layout(config.dot_product)
    if not config.mxf4:
        return layout
    members = {name: field.shape for name, field in data.Layout.cast(layout)}
    scales = dict.fromkeys(SCALES, unsigned(scale_bits(config)))
    return data.StructLayout({**members, **scales, "is_group": unsigned(1)})


def are_legal(vec: Value, byte: Value, thread: Value, name: str) -> Value:
    """Whether selectors are some of `golden.tables.scales`.

    Parameters
    ----------
    vec : Value
        1, 2 or 3 for ``.scale_vec::1X``, 2X or 4X.
    byte, thread : Value
    name : str
        Of `SCALES`.
    """
    is_1x, is_4x = vec == 1, vec == 3
    bytes_ = (is_1x | ~byte[0]) & (~is_4x | ~byte[1])
    return bytes_ & ~thread[1] if name == "scale_a" else bytes_


def scales_of_quad(
    m: Module, name: str, config: CoreConfig, request: Any, vec: Value, quad: Value
) -> list[Value]:
    """The scales of the rows of A, or of the column of B, that a quad of their register has.

    Group 0 is in the low bits. A cycle later. Critical path expected: a choice of four lanes, and of four
    bytes behind a register.

    Parameters
    ----------
    m : Module
    name : str
        Of `SCALES`, and which quad.
    config : CoreConfig
    request : View of ScaleRequest
    vec : Value
        As of `are_legal`.
    quad : Value

    Returns
    -------
    list of Value
        Of A for the first and the second block of rows.
    """
    lanes = [quad.word_select(lane, LANE_BITS) for lane in range(_LANES)]
    if name.startswith("scale_a"):
        chosen = [Mux(request.thread[0], lanes[2 + block], lanes[block]) for block in (0, 1)]
    else:
        chosen = [Array(lanes)[request.thread]]
    found = []
    for number, lane in enumerate(chosen):
        held = register(m, lane, f"{name}_lane_{number}")
        whole = [held.word_select(byte, SCALE) for byte in range(GROUPS)]
        first = Array(whole)[request.byte]
        if not config.mxf4:
            found.append(first)
            continue
        second = Mux(request.byte[1], whole[3], whole[1])
        is_4x = vec == 3
        groups = [first, Mux(is_4x, whole[1], first)]
        groups += [Mux(is_4x, whole[2], second), Mux(is_4x, whole[3], second)]
        found.append(Cat(groups))
    return found
