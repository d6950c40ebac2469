"""Coverpoints of what is around the core: a slow bus, a full queue, a host that is too early, and faults."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import fields
from typing import Final

import numpy as np

from hdl.control.host import REGISTERS, SHARED_WINDOW, WINDOW
from regression.functional.model import Seen, bin_name, coverpoint
from regression.random_programs.faulting import state_difference
from regression.random_programs.generator import make_program
from regression.random_programs.illegal import WAYS
from regression.random_programs.running import open_rtl
from sim.simulation import BusWaits, HostRefusal

_WAITS: Final = {field.name: field.name.replace("_", " ") for field in fields(BusWaits)}
_EARLY: Final = {"registers window": WINDOW, "shared window": SHARED_WINDOW, "mode": REGISTERS["MODE"]}
"""What the host must not touch while the core is at work, with an address of it."""

POINTS: Final = (
    coverpoint(
        "wait",
        "Who kept whom waiting: memory the core, on each channel; the core memory; the queue the host.",
        {"where": tuple(_WAITS.values())},
    ),
    coverpoint(
        "early host",
        "Accesses of the host while the core is at work, which are refused and change nothing.",
        {"access": ("read", "write"), "what": tuple(_EARLY)},
        lambda access, what: (
            "the mode may be read at any time" if (access, what) == ("read", "mode") else None
        ),
    ),
    coverpoint(
        "fault",
        "Every cause of a fault by every way to it, with one command at work and with several.",
        {
            "way": [bin_name(cause.name.lower(), *rest) for cause, *rest in WAYS],
            "mode": ("serial", "overlapped"),
        },
    ),
)


def sample_waits(seen: Seen, waits: BusWaits) -> None:
    """Note who waited while a program ran."""
    for name, label in _WAITS.items():
        count = getattr(waits, name)
        if count:
            seen["wait", label] += count


def run_early_host(seen: Seen, preset: str, seed: int) -> str | None:
    """Run a program while the host asks for what it must not, and compare; what was wrong, if anything."""
    program = make_program(preset, seed, multiplies=8)
    golden = program.golden()
    ones = np.array([0xFFFF_FFFF], dtype=np.uint32)
    with closing(open_rtl(program)) as machine:
        accesses: dict[str, Callable[[int], object]] = {
            "read": machine.simulation.read,
            "write": lambda address: machine.simulation.write(address, ones),
        }
        share = -(-len(program.commands) // len(_EARLY))
        for turn, name in enumerate(_EARLY):
            part = program.commands[turn * share : (turn + 1) * share]
            machine.queue(part)
            for access, attempt in accesses.items():
                if (access, name) == ("read", "mode"):
                    continue
                try:
                    attempt(_EARLY[name])
                except HostRefusal:
                    seen["early host", bin_name(access, name)] += 1
                else:
                    return f"a {access} of the {name} was accepted while the core was at work"
            machine.finish()
            for command in part:
                golden.execute(command)
        return state_difference(golden, machine)
