"""What a core says of itself, and whether that is what a program was prepared for."""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from hdl.config import CoreConfig, DotProductConfig
from hdl.control.host import IDENTITY, VERSION
from hdl.dot_product.operands import Multiplicand
from sim import host_map

__all__ = ["Capabilities", "CapabilityError"]

_FORMAT_NAMES = (*(item.name.lower() for item in Multiplicand), "f64")
"""The formats by the bits of the register, lowest first."""


class CapabilityError(RuntimeError):
    """A core that is not the one a program was prepared for, or none that this software knows."""


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """The constants that the host interface of a core shows.

    Parameters
    ----------
    identity : int
        The same for every core of this project.
    version : int
        Of the register map: major, minor and patch number, a byte each.
    formats : frozenset of str
        Multiplicand formats, f64 among them.
    registers : int
        Per lane.
    dot_product_units, f64_units, word_quads, queue_depth, address_bits, data_bits, outstanding_reads : int
        As in `hdl.config.CoreConfig`.
    shared_bytes : int
        Size of the on-chip memory, 0 for none.
    shared_base : int
        Its generic address; 0 where there is none.
    """

    identity: int
    version: int
    formats: frozenset[str]
    registers: int
    dot_product_units: int
    f64_units: int
    word_quads: int
    queue_depth: int
    address_bits: int
    data_bits: int
    outstanding_reads: int
    shared_bytes: int
    shared_base: int

    @classmethod
    def of(cls, config: CoreConfig) -> "Capabilities":
        """What a core of this configuration must show."""
        return cls(
            identity=IDENTITY,
            version=VERSION,
            formats=config.formats,
            registers=config.registers,
            dot_product_units=config.dot_product_units,
            f64_units=config.f64_units,
            word_quads=config.word_quads,
            queue_depth=config.queue_depth,
            address_bits=config.address_bits,
            data_bits=config.data_bits,
            outstanding_reads=config.outstanding_reads,
            shared_bytes=config.shared_bytes,
            shared_base=config.shared_base if config.shared_bytes else 0,
        )

    @classmethod
    def read(cls, read: Callable[[int, int], NDArray[np.uint32]]) -> "Capabilities":
        """Ask a core; `read` takes an address and a count, as `sim.simulation.Simulation.read` does.

        Identity and version are read first: where they are not those of this software, no more is read, for
        nothing is known of the other registers.

        Raises
        ------
        CapabilityError
            For another identity or another version of the register map.
        """

        def word(address: int) -> int:
            return int(read(address, 1)[0])

        identity, version = word(host_map.IDENTITY_ADDRESS), word(host_map.VERSION_ADDRESS)
        _require("identity", identity, IDENTITY)
        _require("version", version, VERSION)
        formats, sizes = word(host_map.FORMATS), word(host_map.CONFIGURATION)
        units, memory = word(host_map.UNITS), word(host_map.MEMORY)
        shared_bytes = word(host_map.SHARED_SIZE)
        low, high = (int(value) for value in read(host_map.SHARED_BASE, 2))
        return cls(
            identity=identity,
            version=version,
            formats=_format_names(formats),
            registers=sizes & 0xFFFF,
            dot_product_units=sizes >> 16 & 0xFF,
            f64_units=units & 0xFF,
            word_quads=units >> 8 & 0xFF,
            queue_depth=(sizes >> 24) + 1,
            address_bits=memory & 0xFF,
            data_bits=8 * (memory >> 8 & 0xFF),
            outstanding_reads=memory >> 16 & 0xFF,
            shared_bytes=shared_bytes,
            shared_base=(high << 32 | low) if shared_bytes else 0,
        )

    def configuration(self) -> CoreConfig:
        """The configuration of a core that shows this, with the profile that every core has had so far.

        Raises
        ------
        CapabilityError
            When there is none.
        """
        try:
            return CoreConfig(
                dot_product=DotProductConfig(formats=self.formats - {"f64"}),
                dot_product_units=self.dot_product_units,
                f64_units=self.f64_units,
                registers=self.registers,
                queue_depth=self.queue_depth,
                address_bits=self.address_bits,
                data_bits=self.data_bits,
                outstanding_reads=self.outstanding_reads,
                shared_bytes=self.shared_bytes,
                **({"shared_base": self.shared_base} if self.shared_bytes else {}),
            )
        except ValueError as error:
            raise CapabilityError(f"the core's account of itself is of no configuration: {error}") from error

    def require(self, expected: "Capabilities") -> None:
        """Refuse a core that is not as expected.

        Raises
        ------
        CapabilityError
            For the first difference, with both values.
        """
        for field in fields(self):
            _require(field.name, getattr(self, field.name), getattr(expected, field.name))


def _require(name: str, found: object, expected: object) -> None:
    if found != expected:
        raise CapabilityError(
            f"the core has {name.replace('_', ' ')} {_shown(name, found)}, "
            f"but the configuration says {_shown(name, expected)}"
        )


def _shown(name: str, value: object) -> str:
    if isinstance(value, frozenset):
        return " ".join(sorted(value)) or "none"
    return f"{value:#x}" if name in ("identity", "version", "shared_base") else str(value)


def _format_names(bits: int) -> frozenset[str]:
    known = {name for place, name in enumerate(_FORMAT_NAMES) if bits >> place & 1}
    beyond = bits >> len(_FORMAT_NAMES)
    places = range(len(_FORMAT_NAMES), len(_FORMAT_NAMES) + beyond.bit_length())
    return frozenset(known | {f"bit {place}" for place in places if bits >> place & 1})
