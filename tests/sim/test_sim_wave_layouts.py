"""Layouts for GTKWave and Surfer: every signal that they name is in the waveform."""

import re
from itertools import pairwise

import pytest
from rtl import CONFIG, FOUR_WARPS, fill, memory_of_noise
from test_sim_waves import HIERARCHY_LZ4, blocks, decompress

from golden.tables.faults import Cause
from hdl.config import PRESETS
from hdl.control.scoreboard import Unit
from sim.build import core_verilog
from sim.rtl_machine import RtlMachine
from sim.waves.layout_files import MAPPINGS, gtkwave_layout, layout_paths, surfer_commands, write_layouts
from sim.waves.signal_groups import signal_groups, signal_widths

SCOPE, END_OF_SCOPE, ATTRIBUTE, END_OF_ATTRIBUTE = 254, 255, 252, 253


class Reader:
    """The fields of the hierarchy of an FST file, one after the other."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def text(self):
        end = self.data.index(b"\0", self.at)
        text = self.data[self.at : end].decode()
        self.at = end + 1
        return text

    def number(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value


def signals_of(data):
    """Full names of the signals of an FST file, without ranges, and their widths."""
    hierarchy = next(content for kind, content in blocks(data) if kind == HIERARCHY_LZ4)
    reader = Reader(decompress(hierarchy[8:]))
    scopes, found = [], {}
    while reader.at < len(reader.data):
        kind = reader.byte()
        if kind == SCOPE:
            reader.byte()
            scopes.append(reader.text())
            reader.text()
        elif kind == END_OF_SCOPE:
            scopes.pop()
        elif kind == ATTRIBUTE:
            reader.byte()
            reader.byte()
            reader.text()
            reader.number()
        elif kind != END_OF_ATTRIBUTE:
            reader.byte()
            name = re.sub(r" ?\[\d+:\d+\]$", "", reader.text())
            found[".".join([*scopes, name])] = reader.number()
            reader.number()
    return found


@pytest.fixture(
    scope="module",
    params=[FOUR_WARPS, pytest.param(CONFIG, marks=pytest.mark.long)],
    ids=["four warps", "small"],
)
def waves(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("waves") / "w.fst"
    machine = RtlMachine(request.param, memory_of_noise(), waves=path)
    machine.execute(fill(0, 1))
    machine.close()
    return path


def test_every_signal_is_in_the_waveform(waves):
    found = signals_of(waves.read_bytes())
    paths = layout_paths(waves)
    traces = [
        line for line in paths["gtkwave"].read_text().splitlines() if line.startswith("TOP.openwmma_core.")
    ]
    assert len(traces) > 80
    for trace in traces:
        name, _, bits = trace.partition("[")
        assert found[name] == (int(bits.partition(":")[0]) + 1 if bits else 1)
    commands = paths["surfer"].read_text().splitlines()
    added = [line.removeprefix("variable_add ") for line in commands if line.startswith("variable_add ")]
    assert added == [trace.partition("[")[0] for trace in traces]


def test_states_have_names(waves):
    text = layout_paths(waves)["gtkwave"].read_text()
    filters = dict(re.findall(r"^\^(\d+) (.*)$", text, re.MULTILINE))
    assert len(filters) == 3
    shown = "TOP.openwmma_core.core.warps.sequencer_0.scoreboard.unit[2:0]"
    before_unit = text.partition(f"\n{shown}\n")[0].splitlines()[-1]
    names = waves.parent.joinpath(filters[before_unit[1 : before_unit.index(" ")]]).read_text().splitlines()
    assert names == [f"{unit.value} {unit.name}" for unit in Unit]
    faults = waves.with_suffix(".fault.txt").read_text().splitlines()
    assert faults == ["0 none", *(f"{cause.value} {cause.name}" for cause in Cause)]
    mapping = (waves.parent / MAPPINGS / "openwmma-unit").read_text().splitlines()
    assert mapping == ["Name = openwmma-unit", "Bits = 3", *names]


def test_formats_for_surfer_are_set_for_the_right_item(waves):
    lines = layout_paths(waves)["surfer"].read_text().splitlines()
    items = [line.split(" ", 1)[1] for line in lines if line.split(" ")[0] in ("variable_add", "divider_add")]
    assert all(" " not in item for item in items)
    focused = {}
    for line, following in pairwise(lines):
        if line.startswith("item_focus "):
            digits = "".join(f"{ord(letter) - ord('a'):x}" for letter in line.split(" ")[1])
            focused[items[int(digits, 16)]] = following.removeprefix("item_set_format ")
    assert focused["TOP.openwmma_core.core.warps.sequencer_0.scoreboard.unit"] == "openwmma-unit"
    assert focused["TOP.openwmma_core.m_axi_araddr"] == "Hexadecimal"
    assert focused["TOP.openwmma_core.m_axi_arlen"] == "Unsigned"
    assert "TOP.openwmma_core.aclk" not in focused


def test_a_core_without_f64_and_memory_has_no_group_for_them():
    tiny = PRESETS["tiny"]
    titles = [group.title for group in signal_groups(tiny, core_verilog(tiny))]
    assert "sequencer" in titles
    assert not {"f64 multiplier", "on-chip memory", "matrix moves"} & set(titles)


def test_a_signal_that_is_gone_is_an_error():
    text = core_verilog(CONFIG)
    assert signal_widths(text)["warps.sequencer_0.halt"] == 1
    with pytest.raises(ValueError, match=r"the Verilog of the core has no signal warps\.sequencer_0\.halt"):
        signal_groups(CONFIG, re.sub(r"\bhalt\b", "stall", text))


def test_layouts_need_no_waveform(tmp_path):
    groups = signal_groups(CONFIG, core_verilog(CONFIG))[:1]
    assert surfer_commands(groups).splitlines()[:2] == [
        "divider_add clock_and_host",
        "variable_add TOP.openwmma_core.aclk",
    ]
    text = gtkwave_layout(tmp_path / "w.fst", groups, {})
    assert f'[dumpfile] "{tmp_path / "w.fst"}"' in text
    assert "-clock and host" in text
    write_layouts(tmp_path / "w.fst", groups)
    assert (tmp_path / "w.gtkw").read_text() == text
