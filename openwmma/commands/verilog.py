"""`openwmma verilog`: the core as Verilog, by `openwmma.verilog_files.write_verilog`."""

from pathlib import Path
from typing import Annotated

import typer

from openwmma.core_profile import DEFAULT_PROFILE, with_profile
from openwmma.options import Preset, Profile, preset_config
from openwmma.output_files import require_folder, require_outputs
from openwmma.target import DEFAULT_PRESET
from openwmma.terminal import tell
from openwmma.usage import UsageError
from openwmma.verilog_files import write_verilog, written_files

__all__ = ["verilog"]


def verilog(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE.v", help="The Verilog file.")],
    preset: Preset = DEFAULT_PRESET,
    profile: Profile = DEFAULT_PROFILE,
) -> None:
    """Write the core as one file of plain Verilog-2001, for any simulator and any synthesis.

    Example:

        openwmma verilog --preset small -o core.v

    writes seven files, all of them or none:

    - `core.v`: the module `openwmma_core` and those inside it; the same preset and profile always give the
      same bytes
    - `core.json`: ports, parameters, addresses and constants of the host's registers, all presets
    - `core.rdl`: the host's registers and their fields in SystemRDL, for register tools
    - `core_example.v`: the core with a memory of its own, to compile beside it and to begin from
    - `core_testbench.sv`: a self-checking testbench of the example
    - `core.core`: the core for FuseSoC, with the targets `lint` and `sim`
    - `component.xml`: the core in IP-XACT for Vivado's catalogue; always by this name, so give each core a
      folder of its own

    The clock is `aclk`, the synchronous reset `aresetn`, active low. `m_axi_` is an AXI4 master to global
    memory, `s_axil_` the AXI4-Lite port by which a host queues commands, `irq` its interrupt.
    """
    config = with_profile(preset_config(preset), preset, profile)
    require_folder(f"--output {output}", output)
    if output.suffix != ".v":
        raise UsageError(f"--output {output}: expected a file that ends in .v, not {output.name}")
    require_outputs([(f"--output {path}", path) for path in written_files(output).paths])
    written = write_verilog(config, output)
    others = ", ".join(str(path) for path in written.paths[1:])
    tell(f"written: {written.core}, and beside it {others}")
