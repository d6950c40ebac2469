"""The Verilog of a core as files, with what other tools need beside it."""

import json
from dataclasses import astuple, dataclass
from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import Any, Final

from boards.soc.headers import command_header
from hdl.config import CoreConfig
from hdl.config_checks import require_class
from hdl.verilog.core_verilog import generate
from hdl.verilog.example import generate_example
from hdl.verilog.systemrdl import systemrdl
from openwmma.ipxact import identifier, ip_component
from openwmma.output_files import checked_path
from openwmma.usage_error import UsageError
from openwmma.verilog_testbench import Stimulus, generate_testbench, multiply_stimulus
from sim.files import write_files


@dataclass(frozen=True, kw_only=True)
class VerilogFiles:
    """The files of a core."""

    core: Path
    """The Verilog."""
    description: Path
    """Its ports, parameters, registers and constants, and all presets, as JSON."""
    rdl: Path
    """The host's registers and their fields in SystemRDL."""
    example: Path
    """A design that contains the core and a memory."""
    testbench: Path
    """Of the example, in SystemVerilog, with results of the golden model."""
    fusesoc: Path
    """The core file of FuseSoC, with targets for lint and simulation."""
    component: Path
    """IP-XACT for Vivado's catalogue, which knows the file by this name."""
    xdc: Path
    sdc: Path
    """Timing constraints of the core by itself, for Vivado and for other tools."""
    commands: Path
    """Fields and codes of commands, as a C header."""
    stimulus: Path | None
    """What the testbench does, in words for ``$readmemh``, where it executes a launch."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """All of them, the core first."""
        return tuple(path for path in astuple(self) if path is not None)


def written_files(output: Path, *, launches: bool = False) -> VerilogFiles:
    """The files that `write_verilog` writes for a file of Verilog, with the stimulus of a launch or not."""
    return VerilogFiles(
        stimulus=output.with_name(f"{output.stem}_stimulus.hex") if launches else None,
        core=output,
        description=output.with_suffix(".json"),
        rdl=output.with_suffix(".rdl"),
        example=output.with_name(f"{output.stem}_example.v"),
        testbench=output.with_name(f"{output.stem}_testbench.sv"),
        fusesoc=output.with_suffix(".core"),
        component=output.with_name("component.xml"),
        xdc=output.with_suffix(".xdc"),
        sdc=output.with_suffix(".sdc"),
        commands=output.with_name(f"{output.stem}_commands.h"),
    )


def write_verilog(config: CoreConfig, output: str | Path, launch: Stimulus | None = None) -> VerilogFiles:
    """Write a core as Verilog-2001, and beside it what other tools need (`VerilogFiles`).

    Parameters
    ----------
    config : CoreConfig
    output : str or Path
        The file of the core, in a folder that exists. The other files have its name with endings of their
        own, but for ``component.xml``. All are written, or none.
    launch : Stimulus or None
        What the testbench executes in place of one multiply.

    Returns
    -------
    VerilogFiles

    Raises
    ------
    TypeError
        For another configuration.
    UsageError
        For an output that is no path, or a folder.
    OSError
        When a file cannot be written.
    """
    require_class("Configuration", config, CoreConfig, "a CoreConfig")
    output = checked_path("output", output) or Path()
    if output.is_dir():
        raise UsageError(f"output {output}: expected a file, not a folder")
    text, description = generate(config)
    files, rdl = written_files(output, launches=launch is not None), systemrdl(config)
    release, stimulus = version("openwmma"), launch or multiply_stimulus(config)
    data = files.stimulus.name if files.stimulus else None
    names = [path.name for path in (files.core, files.example, files.testbench)]
    write_files(
        ({files.stimulus: "\n".join(map("{:08x}".format, stimulus.words.tolist()))} if files.stimulus else {})
        | {
            files.core: text,
            files.description: json.dumps(description, indent=2) + "\n",
            files.rdl: rdl,
            files.example: generate_example(description, stimulus.memory_bits),
            files.testbench: generate_testbench(config, stimulus, data),
            files.fusesoc: fusesoc_core(description, release, *names, data=data),
            files.component: ip_component(description, rdl, release, files.core.name),
            files.xdc: timing_constraints(description),
            files.sdc: timing_constraints(description),
            files.commands: command_header(),
        }
    )
    return files


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


_TEMPLATE: Final = Path(__file__).with_name("fusesoc_core.txt")


def fusesoc_core(
    description: dict[str, Any],
    version: str,
    rtl: str,
    example: str,
    testbench: str,
    *,
    data: str | None = None,
) -> str:
    """Describe a core in FuseSoC's format CAPI2.

    The targets are ``default`` for designs that depend on the core, ``lint`` by Verilator, and ``sim`` by
    Icarus Verilog. `version` is of this software; `rtl`, `example`, `testbench` and `data`, which the
    testbench reads, are names of files in the folder of the core file.
    """
    read = "" if data is None else f", {{{json.dumps(data)}: {{file_type: user}}}}"
    return Template(_TEMPLATE.read_text()).substitute(
        name=":".join((*identifier(description), version)),
        top=description["top"],
        rtl=json.dumps(rtl),
        example=json.dumps(example),
        testbench=json.dumps(testbench) + read,
    )
