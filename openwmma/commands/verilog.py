"""`openwmma verilog`: the core as Verilog, by `openwmma.verilog_files.write_verilog`."""

from pathlib import Path
from typing import Annotated

import typer

from golden.simt.trace_file import TraceReader
from openwmma.core_settings import parse_settings
from openwmma.input_files import require_input
from openwmma.launching import core_name
from openwmma.options import Fields, Force, Preset, Profile, SettingsFile
from openwmma.output_files import require_folder, require_outputs
from openwmma.target import MachineKind, Target
from openwmma.terminal import tell
from openwmma.usage_error import UsageError
from openwmma.verilog_files import write_verilog, written_files
from openwmma.verilog_testbench import launch_stimulus


def verilog(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE.v", help="The Verilog file.")],
    preset: Preset = None,
    profile: Profile = None,
    settings: Fields = None,
    config: SettingsFile = None,
    stimulus: Annotated[
        Path | None, typer.Option(metavar="FILE.trace", help="A launch that the testbench executes.")
    ] = None,
    force: Force = False,
) -> None:
    """Write the core as one file of plain Verilog-2001, for any simulator and any synthesis.

    Examples, of a preset and of a configuration that differs in some fields:

        openwmma verilog --preset small -o core.v
        openwmma verilog --config core.toml --set queue_depth=64 -o core.v

    Each writes ten files, all of them or none:

    - `core.v`: the module `openwmma_core` and those inside it; the same configuration always gives the
      same bytes
    - `core.json`: ports, parameters, addresses and constants of the host's registers, all presets
    - `core.rdl`: the host's registers and their fields in SystemRDL, for register tools
    - `core_example.v`: the core with a memory of its own, to compile beside it and to begin from
    - `core_testbench.sv`: a self-checking testbench of the example
    - `core.core`: the core for FuseSoC, with the targets `lint` and `sim`
    - `component.xml`: the core in IP-XACT for Vivado's catalogue; always by this name, so give each core a
      folder of its own
    - `core.xdc`, `core.sdc`: timing constraints of the core by itself
    - `core_commands.h`: fields and codes of commands in C

    With `--stimulus` the testbench executes the matrix instructions of a launch, a trace that
    `openwmma run --trace-file` wrote; `core_stimulus.hex` holds them.

    The clock is `aclk`, the synchronous reset `aresetn`, active low. `m_axi_` is an AXI4 master to global
    memory, `s_axil_` the AXI4-Lite port by which a host queues commands, `irq` its interrupt.
    """
    target = Target(
        on=MachineKind.RTL, preset=preset, profile=profile, settings=parse_settings(settings, config)
    )
    require_folder(f"--output {output}", output)
    if output.suffix != ".v":
        raise UsageError(f"--output {output}: expected a file that ends in .v, not {output.name}")
    outputs = written_files(output, launches=stimulus is not None).paths
    launch = None
    if stimulus is None:
        require_outputs([(f"--output {path}", path) for path in outputs], force=force)
    else:
        require_input(stimulus, "expected the trace of a launch")
        require_outputs([(f"--output {path}", path) for path in outputs], [stimulus], force=force)
        with stimulus.open("rb") as opened:
            trace = TraceReader(opened, str(stimulus))
            launch = launch_stimulus(trace, target.config, core_name(target))
    written = write_verilog(target.config, output, launch)
    others = ", ".join(str(path) for path in written.paths[1:])
    tell(f"written: {written.core}, and beside it {others}")
