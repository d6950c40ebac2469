# amaranth: UnusedElaboratable=no
"""The constraints of each board: they place every pin of its design, each once, and nothing else."""

import re

import pytest

from boards.boards import BOARDS, Board
from boards.flow.flow import constraints_of
from boards.flow.vivado import vivado_script
from boards.gateware.design import BoardDesign

PLACES = {
    "lpf": re.compile(r'^LOCATE COMP "([^"]+)" SITE "(\w+)";$', re.MULTILINE),
    "pcf": re.compile(r"^set_io (?:-pullup yes )?(\S+) (\w+)$", re.MULTILINE),
    "xdc": re.compile(r"PACKAGE_PIN (\w+) .*\[get_ports \{ (\S+) \}\]$", re.MULTILINE),
}
CLOCKS = {
    "lpf": r'FREQUENCY PORT "clk" (?P<mhz>[\d.]+) MHZ;',
    "pcf": r"set_frequency clk (?P<mhz>[\d.]+)",
    "xdc": r"create_clock -period (?P<ns>[\d.]+) ",
}


def suffix_and_text(board: Board) -> tuple[str, str]:
    file = constraints_of(board)
    return file.name.rpartition(".")[2], file.read_text()


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_every_pin_has_its_own_place(board: Board) -> None:
    kind, text = suffix_and_text(board)
    found = PLACES[kind].findall(text)
    ports, places = zip(*(pair[::-1] if kind == "xdc" else pair for pair in found), strict=True)
    expected = [
        name if len(signal) == 1 else f"{name}[{bit}]"
        for name, signal in BoardDesign(board).ports.items()
        for bit in range(len(signal))
    ]
    assert sorted(ports) == sorted(expected)
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_oscillator(board: Board) -> None:
    kind, text = suffix_and_text(board)
    (match,) = re.finditer(CLOCKS[kind], text)
    found = match.groupdict()
    hz = 1e9 / float(found["ns"]) if "ns" in found else 1e6 * float(found["mhz"])
    assert hz == board.oscillator_hz


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_every_constraint_has_its_reason(board: Board) -> None:
    _, text = suffix_and_text(board)
    for paragraph in text.strip().split("\n\n"):
        assert paragraph.startswith("#"), paragraph


def test_lpf_gives_every_pin_its_standard() -> None:
    kind, text = suffix_and_text(BOARDS["ulx3s"])
    placed = {port for port, _ in PLACES[kind].findall(text)}
    assert set(re.findall(r'^IOBUF PORT "([^"]+)" .*IO_TYPE=LVCMOS33', text, re.MULTILINE)) == placed


def test_vivado_script_names_what_is_beside_it() -> None:
    board = BOARDS["arty"]
    script = vivado_script(board, "design.v", "pins.xdc")
    lines = script.splitlines()
    assert "read_verilog design.v" in lines
    assert "read_xdc pins.xdc" in lines
    assert f"synth_design -top {board.top} -part xc7a100tcsg324-1" in lines
    assert lines.index("route_design") < lines.index(f"write_bitstream -force {board.top}.bit")
    assert script.count("{") == script.count("}")
