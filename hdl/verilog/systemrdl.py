"""The host's address map as SystemRDL, which register tools read."""

from collections.abc import Iterator

from golden.tables.layouts import LANES
from hdl.config import CoreConfig
from hdl.control.host.register_map import REGISTER_MAP, SHARED_WINDOW, WINDOW
from hdl.control.host.register_types import WORD_BITS, WORD_BYTES, Field, Register
from hdl.verilog.core_verilog import TOP


def systemrdl(config: CoreConfig) -> str:
    """Describe the host's address map in SystemRDL 2.0.

    Parameters
    ----------
    config : CoreConfig
        Decides the reset values and the sizes of the windows.

    Returns
    -------
    str
        One ``addrmap``, named as the top module. Fields that the core sets, and that have no reset value of
        their own, have a reset value of 0. A window is an array of registers.
    """
    return "\n".join(_lines(config)) + "\n"


def _lines(config: CoreConfig) -> Iterator[str]:
    registers = [register for register in REGISTER_MAP.values() if register.exists(config)]
    for register in registers:
        yield from _enumerations(register)
    yield f"addrmap {TOP} {{"
    yield _property("name", "openwmma core")
    yield _property(
        "desc",
        "Registers of the host, on AXI4-Lite. Words are of 32 bits and are written whole. An access that is "
        "not described here is answered with SLVERR and changes nothing.",
    )
    yield f"    default regwidth = {WORD_BITS};"
    yield f"    default accesswidth = {WORD_BITS};"
    for register in registers:
        yield ""
        yield from _register(register, config)
    yield ""
    yield from _window(
        *("FRAGMENTS", WINDOW, (config.registers, LANES)),
        "Fragment registers of the selected warp, by number and lane. Only while the core is idle.",
    )
    if config.shared_bytes:
        yield ""
        yield from _window(
            *("SHARED", SHARED_WINDOW, (config.shared_bytes // WORD_BYTES,)),
            "The on-chip memory. Only while the core is idle.",
        )
    yield "};"


def _enumerations(register: Register) -> Iterator[str]:
    for field in register.fields:
        if field.values:
            yield f"enum {_enumeration(register, field)} {{"
            for name, value in field.values.items():
                yield f"    {name} = {field.width}'d{value};"
            yield "};"
            yield ""


def _enumeration(register: Register, field: Field) -> str:
    return f"{register.name}_{field.name}".lower()


def _register(register: Register, config: CoreConfig) -> Iterator[str]:
    yield "    reg {"
    yield f"    {_property('desc', register.meaning)}"
    if register.width != WORD_BITS:
        yield f"        regwidth = {register.width};"
    for field in register.fields:
        yield "        field {"
        yield f"        {_property('desc', field.meaning)}"
        yield f"            sw = {register.access.value};"
        yield f"            hw = {_hardware_access(register)};"
        if field.self_clearing:
            yield "            singlepulse;"
        if field.values:
            yield f"            encode = {_enumeration(register, field)};"
        high = field.low + field.width - 1
        reset = "" if not register.readable else f" = {field.width}'h{field.reset_value(config):x}"
        yield f"        }} {field.name}[{high}:{field.low}]{reset};"
    step = register.width // 8
    array = (f"[{register.count}]", f" += {step:#x}") if register.count > 1 else ("", "")
    yield f"    }} {register.name}{array[0]} @ {register.offset:#05x}{array[1]};"


def _hardware_access(register: Register) -> str:
    if register.constant:
        return "na"
    return "r" if register.writable else "w"


def _window(name: str, first: int, shape: tuple[int, ...], meaning: str) -> Iterator[str]:
    yield "    external reg {"
    yield f"    {_property('desc', meaning)}"
    yield "        field { sw = rw; hw = rw; } value[31:0];"
    dimensions = "".join(f"[{length}]" for length in shape)
    yield f"    }} {name}{dimensions} @ {first:#x} += {WORD_BYTES};"


def _property(name: str, text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'    {name} = "{quoted}";'
