"""Dot-product units for a tile multiplier, with golden arithmetic."""

from collections import deque
from collections.abc import Iterator
from typing import Any, Final

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge
from numpy.typing import NDArray

from cocotb_tests.streams import ChangingInput, never
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.profiles import HOPPER
from hdl.dot_product.operands import Multiplicand, Operation, Result
from sim.testbench.dot_product_operands import Batch, Mode

__all__ = ["Units"]

_OPERATION_BITS: Final = Operation.as_shape().size
_OPERATION_MASK: Final = (1 << _OPERATION_BITS) - 1
_FP8_TYPES: Final = sum(1 << Operation.as_shape()[name].offset for name in ("a_e5m2", "b_e5m2"))


class Units:
    """The dot-product units: their latency, their places for results, and golden arithmetic.

    Results are computed when the first of them is due, all that are in flight at once. The operands of the
    first unit must not change while none are offered.

    Parameters
    ----------
    dut : handle
    units : int
    depth : int
        Cycles from operands to result.
    pause : callable
        Makes a generator of pauses for one port.

    Attributes
    ----------
    operations, busy : int
        Operands accepted, and the sum of what `busy_units` counted.
    span : list of int
        Cycles in which operands were accepted, first and last one.
    """

    def __init__(self, dut: Any, units: int, depth: int, pause: Any = never) -> None:
        self.operations = 0
        self.busy = 0
        self.span: list[int] = []
        self._dut = dut
        self._count = units
        self._depth = depth
        self._places = 1 << depth.bit_length()
        self._under_way: list[deque[list[Any]]] = [deque() for _ in range(units)]
        self._pause_in: list[Iterator[bool]] = [pause() for _ in range(units)]
        self._pause_out: list[Iterator[bool]] = [pause() for _ in range(units)]
        cocotb.start_soon(self._serve())

    async def _serve(self) -> None:
        dut = self._dut
        edge = RisingEdge(dut.aclk)
        units = range(self._count)
        valid_in = [getattr(dut, f"operands_{unit}_valid") for unit in units]
        payload_in = [getattr(dut, f"operands_{unit}_payload") for unit in units]
        ready_in = [ChangingInput(getattr(dut, f"operands_{unit}_ready")) for unit in units]
        valid_out = [ChangingInput(getattr(dut, f"result_{unit}_valid")) for unit in units]
        payload_out = [ChangingInput(getattr(dut, f"result_{unit}_payload")) for unit in units]
        ready_out = [getattr(dut, f"result_{unit}_ready") for unit in units]
        ready, valid = [False] * self._count, [False] * self._count
        offered: list[int | None] = [None] * self._count
        kept = payload_in[0].value
        cycle = 0
        while True:
            for unit in units:
                waiting = self._under_way[unit]
                ready[unit] = len(waiting) < self._places and not next(self._pause_in[unit])
                ready_in[unit].set(ready[unit])
                due = bool(waiting) and waiting[0][1] <= cycle
                valid[unit] = due and (valid[unit] or not next(self._pause_out[unit]))
                valid_out[unit].set(valid[unit])
                if valid[unit]:
                    if waiting[0][2] is None:
                        self._compute()
                    payload_out[unit].set(waiting[0][2])
            await edge
            if not dut.aresetn.value:
                for unit in units:
                    self._under_way[unit].clear()
                    valid[unit], offered[unit] = False, None
                kept = payload_in[0].value
                continue
            assert valid_in[0].value or payload_in[0].value == kept, (
                "operands 0: changed while none are offered"
            )
            kept = payload_in[0].value
            cycle += 1
            self.busy += int(dut.busy_units.value)
            accepted = 0
            for unit in units:
                if valid[unit] and ready_out[unit].value:
                    self._under_way[unit].popleft()
                    valid[unit] = False
                if not valid_in[unit].value:
                    assert offered[unit] is None, f"operands {unit}: taken back"
                    continue
                payload = int(payload_in[unit].value)
                assert offered[unit] in (None, payload), f"operands {unit}: changed before they were taken"
                offered[unit] = None if ready[unit] else payload
                if ready[unit]:
                    accepted += 1
                    self._under_way[unit].append([payload, cycle + self._depth - 1, None])
            if accepted:
                self.operations += accepted
                self.span = [*self.span[:1], cycle]

    def _compute(self) -> None:
        by_operation: dict[int, list[list[Any]]] = {}
        for waiting in self._under_way:
            for item in waiting:
                if item[2] is None:
                    by_operation.setdefault(item[0] >> 544 & _OPERATION_MASK, []).append(item)
        for code, items in by_operation.items():
            results = _golden_results(code, [item[0] for item in items])
            for item, result in zip(items, results, strict=True):
                item[2] = int(result)


def _golden_results(code: int, payloads: list[int]) -> NDArray[np.uint32]:
    """What golden makes of operands that have the same operation."""
    if Operation.from_bits(code).multiplicand != Multiplicand.FP8:
        code &= ~_FP8_TYPES  # as of multiplicands that have become f16
    operation = Operation.from_bits(code)
    raw = np.frombuffer(b"".join((item & (1 << 544) - 1).to_bytes(68, "little") for item in payloads), "u1")
    rows = raw.reshape(len(payloads), 68)
    name = Multiplicand(operation.multiplicand).name.lower()
    types = [name, name]
    if name[0] == "i":
        types = ["us"[flag] + name[1:] for flag in (operation.a_signed, operation.b_signed)]
    if name == "fp8":
        types = [("e4m3", "e5m2")[flag] for flag in (operation.a_e5m2, operation.b_e5m2)]
    is_float = isinstance(FORMATS[types[0]], FloatFormat)
    accumulator = "f32" if is_float else "s32"
    mode = Mode(
        a_type=types[0],
        b_type=types[1],
        c_type="f16" if operation.c_is_f16 else accumulator,
        d_type=accumulator if operation.result == Result.F32 else "f16",
        saturate=bool(operation.saturate),
        operation=("and" if operation.bitwise_and else "xor") if name == "b1" else None,
    )
    assert mode.code() == code, f"operation {code:#x} is none"
    c = np.ascontiguousarray(rows[:, 64:]).view("<u4")[:, 0]
    if operation.c_is_f16:
        assert not (c >> 16).any(), "the high half of an f16 C is to be zero"
        c = c.astype(np.uint16)
    products = mode.products(HOPPER)
    a = _elements(rows[:, :32], types[0], products)
    b = _elements(rows[:, 32:64], types[1], products)
    if is_float:
        return Batch(mode=mode, a=a, b=b, c=c).expected()
    signed = c.astype(np.int32)
    if not mode.saturate:
        return Batch(mode=mode, a=a, b=b, c=signed).expected()
    beyond = np.array([item >> 544 + _OPERATION_BITS & 1 for item in payloads], dtype=np.int64)
    wide = signed + (beyond << 32) * np.where(signed < 0, 1, -1)
    return Batch(mode=mode, a=a, b=b, c=wide).expected()


def _elements(rows: NDArray[np.uint8], name: str, count: int) -> NDArray[Any]:
    """The first elements of rows; integers as values."""
    form = FORMATS[name]
    rows = np.ascontiguousarray(rows)
    if isinstance(form, FloatFormat):
        return rows.view(f"<u{form.bits // 8}")[:, :count]
    bits = np.unpackbits(rows, axis=1, bitorder="little")[:, : count * form.bits]
    values = bits.reshape(len(rows), count, form.bits).astype(np.int64) @ (1 << np.arange(form.bits))
    return np.where(values > form.maximum, values - (1 << form.bits), values)
