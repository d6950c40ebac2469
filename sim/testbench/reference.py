"""The golden machine of a configuration, which testbenches compare a core with."""

from golden.memory import Memory
from golden.tables.instruction_set import WGMMA_FAMILIES
from golden.warp import GoldenMachine
from hdl.config import CoreConfig


def golden_machine(
    config: CoreConfig, memory: Memory, kind: type[GoldenMachine] = GoldenMachine
) -> GoldenMachine:
    """The golden machine that is as large and as able as a core of the configuration.

    Parameters
    ----------
    config : CoreConfig
    memory : Memory
        Global memory.
    kind : type
        The class of the machine.
    """
    return kind(
        registers=config.registers,
        warps=config.warps,
        memory=memory,
        shared=Memory(config.shared_bytes, config.shared_base) if config.shared_bytes else None,
        address_bits=config.address_bits,
        formats=config.formats,
        families=config.families + (WGMMA_FAMILIES if config.wgmma else ()),
        profile=config.dot_product.profile,
    )
