"""A core in IP-XACT (IEEE 1685-2009, with Vivado's bus types), as Vivado's catalogue reads it."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

_SPIRIT: Final = "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009"
_XILINX: Final = "http://www.xilinx.com"
_BUSES: Final = ("s_axil", "m_axi")
_TEMPLATE: Final = Path(__file__).with_name("ipxact.xml")


def identifier(description: dict[str, Any]) -> tuple[str, str, str]:
    """Vendor, library and name of a core that `hdl.verilog.core_verilog.describe` describes.

    A core is named as its preset, or ``custom``.
    """
    return "openwmma", "core", description["preset"] or "custom"


def ip_component(description: dict[str, Any], rdl: str, version: str, rtl: str) -> str:
    """Describe a core with its bus interfaces, ports, registers and files, as XML.

    It has an AXI4-Lite slave with the registers as its memory map, an AXI4 master with the address space
    of global memory, clock, reset and interrupt. `rdl` is from `hdl.verilog.systemrdl.systemrdl`,
    `version` of this software, `rtl` the name of the Verilog file, in the folder of the description.
    """
    ElementTree.register_namespace("spirit", _SPIRIT)
    ElementTree.register_namespace("xilinx", _XILINX)
    vendor, library, name = identifier(description)
    component = _registers(rdl, vendor=vendor, library=library, name=f"{library}_{name}", version=version)
    maps = _found(component, "memoryMaps")
    # The exporter ends with the last register; a bus decodes all bits of the address.
    _found(maps, "memoryMap/addressBlock/range").text = str(1 << description["host"]["address_bits"])
    common = ElementTree.fromstring(_TEMPLATE.read_text(encoding="utf-8"))
    for bus, interface in zip(_BUSES, _found(common, "busInterfaces"), strict=False):
        _add_port_maps(_found(interface, "portMaps"), description, f"{bus}_")
    reference = _found(common, "busInterfaces/busInterface/slave/memoryMapRef")
    reference.set(_tag("memoryMapRef"), _found(maps, "memoryMap/name").text or "")
    sizes = description["parameters"]
    _found(common, "addressSpaces/addressSpace/range").text = str(1 << sizes["address_bits"])
    _found(common, "addressSpaces/addressSpace/width").text = str(sizes["data_bits"])
    _add_ports(_found(common, "model/ports"), description)
    _found(common, "fileSets/fileSet/file/name").text = rtl
    shown = next(common.iter(f"{{{_XILINX}}}displayName"))
    shown.text = f"{shown.text}, {name}"
    place = list(component).index(maps)
    component[place:place] = common[:2]
    component.extend(common[2:])
    ElementTree.indent(component)
    return ElementTree.tostring(component, encoding="unicode", xml_declaration=True) + "\n"


def _registers(rdl: str, *, name: str, **identity: str) -> Element:
    """A component with nothing but its memory map."""
    # They take a third of a second to load, which every command would wait for.
    from peakrdl_ipxact import IPXACTExporter, Standard  # noqa: PLC0415
    from systemrdl.compiler import RDLCompiler  # noqa: PLC0415

    with TemporaryDirectory() as folder:
        source, result = Path(folder) / "core.rdl", Path(folder) / "core.xml"
        source.write_text(rdl, encoding="utf-8")
        compiler = RDLCompiler()
        compiler.compile_file(str(source))
        exporter = IPXACTExporter(standard=Standard.IEEE_1685_2009, **identity)
        exporter.export(compiler.elaborate(), str(result), component_name=name)
        return ElementTree.parse(result).getroot()


def _add_port_maps(maps: Element, description: dict[str, Any], prefix: str) -> None:
    """The ports of a bus by the names that they have in its standard."""
    for port in description["ports"]:
        if port["name"].startswith(prefix):
            port_map = _add(maps, "portMap")
            _add(_add(port_map, "logicalPort"), "name", port["name"].removeprefix(prefix).upper())
            _add(_add(port_map, "physicalPort"), "name", port["name"])


def _add_ports(ports: Element, description: dict[str, Any]) -> None:
    for port in description["ports"]:
        added = _add(ports, "port")
        _add(added, "name", port["name"])
        wire = _add(added, "wire")
        _add(wire, "direction", port["direction"].removesuffix("put"))
        if port["width"] > 1:
            vector = _add(wire, "vector")
            _add(vector, "left", str(port["width"] - 1))
            _add(vector, "right", "0")


def _tag(name: str) -> str:
    return f"{{{_SPIRIT}}}{name}"


def _add(parent: Element, element: str, text: str | None = None) -> Element:
    added = SubElement(parent, _tag(element))
    added.text = text
    return added


def _found(parent: Element, path: str) -> Element:
    found = parent.find("/".join(_tag(name) for name in path.split("/")))
    if found is None:
        raise AssertionError(f"the exporter must write {path}")
    return found
