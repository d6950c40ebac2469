"""The script with which Vivado takes the design from Verilog to a bitstream, by itself."""

from boards.boards import Board

__all__ = ["vivado_script"]

_PART = "xc7a100tcsg324-1"


def vivado_script(board: Board, verilog: str, constraints: str) -> str:
    """Write the script; it fails where timing is not met.

    Parameters
    ----------
    board : Board
    verilog, constraints : str
        Names of the files beside it.

    Returns
    -------
    str
        Tcl, for ``vivado -mode batch -source``.
    """
    top = board.top
    return f"""\
# {board.title}: from Verilog to a bitstream. In this folder:
#   vivado -mode batch -source build.tcl
# Writes {top}.bit, utilisation.txt and timing.txt; ends with status 1 where timing is not met.

read_verilog {verilog}
read_xdc {constraints}
synth_design -top {top} -part {_PART}
opt_design
place_design
phys_opt_design
route_design

report_utilization -hierarchical -file utilisation.txt
report_timing_summary -max_paths 10 -file timing.txt
foreach delay {{max min}} {{
    set slack [get_property SLACK [get_timing_paths -delay_type $delay]]
    puts "slack, $delay delay: $slack ns"
    if {{$slack < 0}} {{
        puts "ERROR: timing is not met; see timing.txt"
        exit 1
    }}
}}
write_bitstream -force {top}.bit
puts "written: {top}.bit"
"""
