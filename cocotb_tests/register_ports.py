"""The fragment registers as a unit sees them: its ports, served from an array, others in its way."""

from collections import deque
from collections.abc import Iterator
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge
from numpy.typing import NDArray

from cocotb_tests.streams import ChangingInput, never
from golden.tables.layouts import LANES
from hdl.config import QUADS, CoreConfig
from hdl.registers.register_ports import QUAD_BITS, READ_LATENCY

__all__ = ["RegisterPorts"]

_NOBODYS_DATA = 0xDEAD_BEEF
_READ_PORTS = ("read", "read_0", "read_1", "c_read")


class RegisterPorts:
    """Serves a unit's ports ``write_...``, ``read_...``, ``read_0_...``, ``c_read_...``, whichever it has.

    A read port with a ready is that for quads, any other one that for words, which is the unit's alone. A
    port for words may be as wide as several; then the others are of the registers that follow.
    Another user has a port in the cycles in which its generator says so. What was read is on the port in the
    one cycle `READ_LATENCY` later; else there is what nobody asked for, as for a word that is read in the
    cycle in which it is written.

    Parameters
    ----------
    dut : handle
    config : CoreConfig
    read_pause, write_pause : iterator of bool or None
        Whether another user has the port in a cycle; None for never.
    holds : bool
        Whether the unit must ask for the same until it gets it.
    on_demand : bool
        Whether the write port is ready only in the cycles behind those in which the unit asks for it.

    Attributes
    ----------
    values : ndarray of uint32, shape (all_registers, 32)
    reads : int
        Of quads or words.
    written : list of (int, int)
        Address and enabled lanes of each word written.
    """

    def __init__(
        self,
        dut: Any,
        config: CoreConfig,
        read_pause: Iterator[bool] | None = None,
        write_pause: Iterator[bool] | None = None,
        *,
        holds: bool = True,
        on_demand: bool = False,
    ) -> None:
        self.values: NDArray[np.uint32] = np.zeros((config.all_registers, LANES), dtype=np.uint32)
        self.reads = 0
        self.written: list[tuple[int, int]] = []
        self._dut = dut
        self._holds = holds
        self._on_demand = on_demand
        names = [
            f"{port}_{name}"
            for port in (*_READ_PORTS, "write")
            for name in ("enable", "address", "data", "lanes", "ready")
        ]
        self._handles = {name: getattr(dut, name) for name in names if hasattr(dut, name)}
        self._lanes = 4 * config.word_quads
        self._groups = QUADS // config.word_quads
        self._quads_read = "read_ready" in self._handles
        self._ports = [port for port in _READ_PORTS if f"{port}_enable" in self._handles]
        self._nobodys = {
            port: sum(_NOBODYS_DATA << lane for lane in range(0, len(self._handles[f"{port}_data"]), 32))
            for port in self._ports
        }
        if read_pause and not self._quads_read:
            raise ValueError("the read port for words has no other user")
        self._held: dict[str, tuple[int, ...] | None] = dict.fromkeys((*_READ_PORTS, "write"))
        cocotb.start_soon(self._serve(read_pause or never(), write_pause or never()))

    def _place(self, address: int) -> tuple[int, slice]:
        register, group = divmod(address, self._groups)
        return register, slice(group * self._lanes, (group + 1) * self._lanes)

    @property
    def writes(self) -> int:
        """Words written."""
        return len(self.written)

    async def _serve(self, read_pause: Iterator[bool], write_pause: Iterator[bool]) -> None:
        dut = self._dut
        writes = "write_enable" in self._handles
        ports = self._ports
        inputs = {
            name: ChangingInput(self._handles[name])
            for name in ("read_ready", "write_ready", *(f"{port}_data" for port in ports))
            if name in self._handles
        }
        edge = RisingEdge(dut.aclk)
        under_way = {port: deque([self._nobodys[port]] * (READ_LATENCY - 1)) for port in ports}
        while True:
            if self._quads_read:
                inputs["read_ready"].set(not next(read_pause))
            if writes:
                asked = not self._on_demand or bool(self._handles["write_enable"].value)
                inputs["write_ready"].set(asked and not next(write_pause))
            await edge
            write = self._made("write", ("address", "data", "lanes")) if writes else None
            for port in ports:
                under_way[port].append(self._read(port, self._written(write) if write else set()))
                inputs[f"{port}_data"].set(under_way[port].popleft())
            if write:
                self._write(*write)

    def _read(self, port: str, written: set[int]) -> int:
        """What a read of this cycle gives."""
        made = self._made(port, ("address",))
        if made is None:
            return self._nobodys[port]
        self.reads += 1
        if self._quads_read:
            address, in_word = divmod(made[0], QUADS // self._groups)
            wanted = (1 << len(self._handles[f"{port}_data"])) - 1
            return self._word(port, address, written) >> QUAD_BITS * in_word & wanted
        word_bits = 32 * self._lanes
        count = len(self._handles[f"{port}_data"]) // word_bits
        return sum(self._word(port, made[0] + n, written) << word_bits * n for n in range(count))

    def _word(self, port: str, address: int, written: set[int]) -> int:
        register, lanes = self._place(address)
        if address in written or register >= len(self.values):
            return self._nobodys[port] & (1 << 32 * self._lanes) - 1
        return int.from_bytes(self.values[register, lanes].astype("<u4").tobytes(), "little")

    def _written(self, write: tuple[int, ...]) -> set[int]:
        address, _, enables = write
        return {address, address + 1} if enables >> self._lanes else {address}

    def _write(self, address: int, data: int, enables: int) -> None:
        while enables:
            self.written.append((address, enables & (1 << self._lanes) - 1))
            register, lanes = self._place(address)
            new = np.frombuffer(
                (data & (1 << 32 * self._lanes) - 1).to_bytes(4 * self._lanes, "little"), "<u4"
            )
            mask = np.array([enables >> lane & 1 for lane in range(self._lanes)], dtype=bool)
            self.values[register, lanes][mask] = new[mask]
            address, data, enables = address + 1, data >> 32 * self._lanes, enables >> self._lanes

    def _made(self, port: str, fields: tuple[str, ...]) -> tuple[int, ...] | None:
        """What is asked for, if it takes place in this cycle; what does not must be asked for again."""
        held, self._held[port] = self._held[port], None
        if not self._handles[f"{port}_enable"].value:
            assert held is None or not self._dut.aresetn.value, f"the {port} {held} was given up"
            return None
        asked = tuple(int(self._handles[f"{port}_{name}"].value) for name in fields)
        assert held in (None, asked) or not self._dut.aresetn.value, f"the {port} {held} became {asked}"
        ready = self._handles.get(f"{port}_ready")
        if ready is None or ready.value:
            return asked
        if self._holds:
            self._held[port] = asked
        return None
