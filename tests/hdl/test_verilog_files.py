"""`openwmma verilog`: what it writes, the same every time, whole or not at all."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hdl.config import PRESETS, CoreConfig
from hdl.control.host import REGISTERS
from hdl.verilog.example import generate_example
from hdl.verilog.systemrdl import systemrdl
from openwmma.cli import main
from sim.build import core_description, core_verilog
from sim.files import write_files

SMALL, TINY = PRESETS["small"], PRESETS["tiny"]
ROOT = Path(__file__).parents[2]


def ports_of(text, module):
    """Name to direction and width of the ports of a module as yosys writes it."""
    body = re.search(rf"^module {module}\(.*?^endmodule", text, re.MULTILINE | re.DOTALL)
    found = re.findall(r"^  (input|output) (?:\[(\d+):0\] )?(\w+);", body[0], re.MULTILINE)
    return {name: (direction, int(high or 0) + 1) for direction, high, name in found}


def test_two_processes_write_the_same_bytes(tmp_path):
    written = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        command = [
            sys.executable,
            "-m",
            "openwmma",
            "verilog",
            "--preset",
            "tiny",
            "-o",
            str(folder / "core.v"),
        ]
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        subprocess.run(command, env=environment, check=True, capture_output=True, cwd=folder)
        files = sorted(folder.iterdir())
        assert [path.name for path in files] == ["core.json", "core.rdl", "core.v", "core_example.v"]
        written.append([path.read_bytes() for path in files])
    assert written[0] == written[1]
    assert written[0][2].decode() == core_verilog(TINY)
    assert written[0][1].decode() == systemrdl(TINY)


@pytest.mark.parametrize("preset", ["tiny", "small", "standard"])
def test_no_name_of_a_file_is_inside(preset):
    text = core_verilog(PRESETS[preset])
    for name in ("src =", ".py", "/usr/", "/home/", str(ROOT), str(Path.home()) + "/"):
        assert name not in text, name


def test_ports_are_described_as_they_are():
    text, description = core_verilog(SMALL), core_description(SMALL)
    described = {port["name"]: (port["direction"], port["width"]) for port in description["ports"]}
    assert described == ports_of(text, description["top"])
    header = re.search(rf"^module {description['top']}\(\n(.*?)\n\);", text, re.MULTILINE | re.DOTALL)
    assert [name.strip(" ,") for name in header[1].splitlines()] == list(described)
    assert {"aclk", "aresetn", "irq"} == {
        name for name in described if not name.startswith(("m_axi_", "s_axil_"))
    }


def test_ports_have_the_names_and_widths_of_axi():
    ports = ports_of(core_verilog(SMALL), "openwmma_core")
    address = ("addr", "len", "size", "burst", "valid", "ready")
    channels = {
        "m_axi_ar": address,
        "m_axi_aw": address,
        "m_axi_r": ("data", "resp", "last", "valid", "ready"),
        "m_axi_w": ("data", "strb", "last", "valid", "ready"),
        "m_axi_b": ("resp", "valid", "ready"),
        "s_axil_ar": ("addr", "valid", "ready"),
        "s_axil_aw": ("addr", "valid", "ready"),
        "s_axil_r": ("data", "resp", "valid", "ready"),
        "s_axil_w": ("data", "strb", "valid", "ready"),
        "s_axil_b": ("resp", "valid", "ready"),
    }
    expected = {channel + name for channel, names in channels.items() for name in names}
    assert expected == {name for name in ports if name.startswith(("m_axi_", "s_axil_"))}
    assert ports["m_axi_rdata"] == ("input", 128)
    assert ports["m_axi_wstrb"] == ("output", 16)
    assert ports["m_axi_araddr"] == ("output", 32)
    assert ports["s_axil_awready"] == ("output", 1)


def test_description_has_parameters_registers_and_presets():
    description = core_description(SMALL)
    assert description["preset"] == "small"
    assert description["parameters"] == description["presets"]["small"]
    assert set(description["presets"]) == set(PRESETS)
    assert description["presets"]["large"]["dot_product_units"] == 64
    assert set(description["parameters"]) >= {"formats", "shared_bytes", "shared_base", "data_bits"}
    host = description["host"]
    assert host["registers"] == dict(REGISTERS)
    assert set(host["counters"]) | set(host["constants"]) < set(host["registers"])
    assert host["constants"]["IDENTITY"] == host["identity"]
    assert host["constants"]["CONFIGURATION"] == 64 | 1 << 16 | 15 << 24


def test_a_configuration_of_its_own_has_no_preset():
    assert core_description(CoreConfig(registers=32))["preset"] is None


def test_every_module_but_the_two_top_ones_is_named_after_the_project():
    names = re.findall(r"^module (\\?[\w.]+)", core_verilog(SMALL), re.MULTILINE)
    assert len(names) > 50
    assert [name for name in names if not name.lstrip("\\").startswith("openwmma_")] == []


def test_example_connects_every_port_once():
    description = core_description(SMALL)
    text = generate_example(description)
    instance = text[text.index("openwmma_core core (") : text.index("openwmma_example_memory #(")]
    names = [port["name"] for port in description["ports"]]
    assert re.findall(r"\.(\w+)\((\w+)\)", instance) == [(name, name) for name in names]


def test_a_file_without_its_suffix_is_refused(capsys, tmp_path):
    assert main(["verilog", "-o", str(tmp_path / "core.txt")]) == 2
    assert "expected a file that ends in .v, not core.txt" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_files_are_written_whole_or_not_at_all(tmp_path):
    old, other = tmp_path / "core.v", tmp_path / "core.json"
    old.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_files({old: "new", other: "\ud800"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"core.v": "old"}
    write_files({old: "new", other: "{}"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "core.v": "new",
        "core.json": "{}",
    }
