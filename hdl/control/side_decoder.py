"""The side operands of a multiply: which registers have them, and whether selectors are legal."""

from collections.abc import Callable
from typing import Any, Final

from amaranth.hdl import Const, Module, Signal, Value

from hdl.config import CoreConfig
from hdl.control.decoded import name_registers
from hdl.dot_product.operands import Multiplicand
from hdl.multiply.tile.request import has_scales
from hdl.multiply.tile.scales import SCALES, are_legal
from hdl.multiply.tile.side_operands import side_registers

_BYTES: Final = Multiplicand.FP8.value | (Multiplicand.I8.value & Multiplicand.I4.value)
"""The bits of elements whose metadata is of bytes."""

_LANES_OF_QUAD: Final = 4


def decode_side_operands(
    m: Module,
    config: CoreConfig,
    command: Any,
    found: Any,
    side: Any,
    operands: Any,
    in_file: Callable[[Value], Value],
    *,
    is_sparse: bool,
) -> Value:
    """Fill in what a multiply has beside its fragments; returns whether its selectors are legal.

    Parameters
    ----------
    m : Module
    config : CoreConfig
    command : View of MmaCommand
    found : View of Constants
    side : View of `hdl.control.decoded.side_layout`
    operands : array of Operand
        In the order of `side_registers`.
    in_file : callable
        From a register of the warp to its number in the register file.
    is_sparse : bool
        Whether the opcode says so.
    """
    legal: Value = Const(1)
    operand_of = dict(zip(side_registers(config), operands, strict=True))
    request = side.request
    if is_sparse:
        multiplicand = Value.cast(found.tile.operation.multiplicand)
        metadata = request.metadata
        lanes_log2 = Signal(2)
        m.d.comb += [
            side.present.eq(1),
            request.is_sparse.eq(1),
            *name_registers(operand_of["metadata"], command.metadata, 0),
            metadata.register.eq(in_file(command.metadata)),
            metadata.selector.eq(command.selector),
            metadata.halves.eq(found.tile.halves),
            metadata.of_bytes.eq((multiplicand & _BYTES).any()),
            metadata.is_tf32.eq(multiplicand == Multiplicand.TF32),
            lanes_log2.eq(metadata.halves + metadata.of_bytes),
        ]
        legal = (command.selector << lanes_log2) < _LANES_OF_QUAD
    if config.scales:
        scaled = has_scales(config, found.tile)
        with m.If(scaled):
            m.d.comb += [side.present.eq(1), request.vec.eq(command.rounding)]
            # The registers of an operand that is none must be in range.
            for name in SCALES:
                m.d.comb += name_registers(operand_of[name], command[name], 0)
        for name in SCALES:
            use = name[-1]
            byte, thread = command[f"byte_{use}"], command[f"thread_{use}"]
            m.d.comb += [
                request[name].register.eq(in_file(command[name])),
                request[name].byte.eq(byte),
                request[name].thread.eq(thread),
            ]
            legal &= ~scaled | are_legal(command.rounding, byte, thread, name)
    return legal
