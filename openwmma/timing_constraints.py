"""Timing constraints of a core by itself: its clock, and what part of a cycle its ports have."""

from typing import Any, Final

CLOCK_MHZ: Final = 100
"""What synthesis aims at until the file is changed; `python -m bench.area` prints what FPGAs reach."""

_OUTSIDE: Final = 0.3
"""The part of a cycle in which a signal is outside the core."""


def timing_constraints(description: dict[str, Any]) -> str:
    """Constraints in the commands that XDC has in common with SDC.

    A clock, a delay of every input and output against it, and no timing of the interrupt.
    """
    clock, interrupt = description["clock"], description["interrupt"]
    period = 1000 / CLOCK_MHZ
    lines = [
        f"# Timing of {description['top']} by itself, synthesised out of context: {CLOCK_MHZ} MHz, and",
        f"# {_OUTSIDE:.0%} of a cycle outside its ports. In a larger design its own constraints apply.",
        f"create_clock -name {clock} -period {period:.3f} [get_ports {clock}]",
        f"# {interrupt} is a level that stays until a host answers; its receiver synchronises it.",
        f"set_false_path -to [get_ports {interrupt}]",
    ]
    for direction in ("input", "output"):
        for port in description["ports"]:
            if port["direction"] != direction or port["name"] in (clock, interrupt):
                continue
            name = f"{{{port['name']}[*]}}" if port["width"] > 1 else port["name"]
            lines += [
                f"set_{direction}_delay -clock {clock} -{edge} {delay:.3f} [get_ports {name}]"
                for edge, delay in (("max", _OUTSIDE * period), ("min", 0.0))
            ]
    return "\n".join(lines) + "\n"
