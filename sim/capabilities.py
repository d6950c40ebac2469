"""What a core says of itself, and whether that is what a program was prepared for."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from numpy.typing import NDArray

from golden.tables.profiles import PROFILES
from hdl.config import CoreConfig, DotProductConfig
from hdl.control.host.register_map import (
    IDENTITY,
    PROFILE_CODES,
    REGISTER_MAP,
    REGISTERS,
    VERSION,
    constants,
)
from hdl.control.host.register_types import WORD_BITS

_SIZES: Final = (
    *("registers", "dot_product_units", "f64_units", "queue_depth", "address_bits", "data_bits"),
    *("outstanding_reads", "shared_bytes", "warps"),
)
"""Parameters of `hdl.config.CoreConfig` that a core shows as they are."""

_PROFILE_NAMES: Final = {code: name for name, code in PROFILE_CODES.items()}


class CapabilityError(RuntimeError):
    """A core that is not the one a program was prepared for, or none that this software knows."""


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """The constants that the host interface of a core shows."""

    identity: int
    """The same for every core of this project."""
    version: int
    """Of the register map: major, minor and patch number, a byte each."""
    formats: frozenset[str]
    """Multiplicand formats, f64 and sparse among them."""
    profile: str
    """Name of the numerics profile; ``"other"`` for one that is not in `golden.tables.profiles.PROFILES`."""
    registers: int
    """Per lane of a warp."""
    warps: int
    dot_product_units: int
    f64_units: int
    word_quads: int
    queue_depth: int
    address_bits: int
    data_bits: int
    outstanding_reads: int
    """As in `hdl.config.CoreConfig`."""
    shared_bytes: int
    """Size of the on-chip memory, 0 for none."""
    shared_base: int
    """Its generic address; 0 where there is none."""
    wgmma: bool
    """Whether the core executes `wgmma` from it."""

    @classmethod
    def of(cls, config: CoreConfig) -> "Capabilities":
        """What a core of this configuration must show."""
        words = {REGISTERS[name]: word for name, word in constants(config).items()}
        return cls.read(lambda address, count: np.array([words[address]], np.uint32))

    @classmethod
    def read(cls, read: Callable[[int, int], NDArray[np.uint32]]) -> "Capabilities":
        """Ask a core; `read` takes an address and a count, as `sim.simulation.Simulation.read` does.

        Identity and version are read first. Where this software has others, no more is read, for nothing is
        known of the other registers: CapabilityError.
        """

        def word(name: str) -> int:
            return int(read(REGISTER_MAP[name].offset, 1)[0])

        identity, version = word("IDENTITY"), word("VERSION")
        _require("identity", identity, IDENTITY)
        _require("version", version, VERSION)
        sizes = {
            size: value
            for name in ("CONFIGURATION", "UNITS", "MEMORY")
            for size, value in REGISTER_MAP[name].unpack(word(name)).items()
        }
        shared_bytes = word("SHARED_SIZE")
        shared_base = word("SHARED_BASE_HIGH") << WORD_BITS | word("SHARED_BASE")
        return cls(
            identity=identity,
            version=version,
            formats=_format_names(word("FORMATS")),
            profile=_PROFILE_NAMES.get(profile := word("PROFILE"), f"code {profile}"),
            queue_depth=sizes.pop("queue_depth_less_one") + 1,
            data_bits=8 * sizes.pop("data_bytes"),
            shared_bytes=shared_bytes,
            shared_base=shared_base if shared_bytes else 0,
            wgmma=bool(sizes.pop("wgmma")),
            **sizes,
        )

    def configuration(self) -> CoreConfig:
        """The configuration of a core that shows this, with units of the greatest depth: no host sees it.

        CapabilityError when there is none, or when its profile is not in `golden.tables.profiles.PROFILES`.
        """
        if self.profile not in PROFILES:
            raise CapabilityError(
                f"the core has profile {self.profile}; this software knows {', '.join(PROFILES)}"
            )
        try:
            return CoreConfig(
                dot_product=DotProductConfig(
                    formats=self.formats - {"f64", "sparse", "block_scale", "mxf4"},
                    profile=PROFILES[self.profile],
                    block_scale="block_scale" in self.formats,
                ),
                sparse="sparse" in self.formats,
                mxf4="mxf4" in self.formats,
                wgmma=self.wgmma,
                **{name: getattr(self, name) for name in _SIZES},
                **({"shared_base": self.shared_base} if self.shared_bytes else {}),
            )
        except ValueError as error:
            raise CapabilityError(f"the core's account of itself is of no configuration: {error}") from error

    def require(self, expected: "Capabilities") -> None:
        """Refuse a core that is not as expected: CapabilityError for the first difference."""
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
    names = {item.low: item.name for item in REGISTER_MAP["FORMATS"].fields}
    places = (place for place in range(WORD_BITS) if bits >> place & 1)
    return frozenset(names.get(place, f"bit {place}") for place in places)
