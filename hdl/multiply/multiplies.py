"""The multiplies of a core, as far as its hardware tells them apart."""

from collections.abc import Iterator
from dataclasses import replace

from golden.tables.matrix_instructions import MmaInstruction, multiplies_of
from hdl.config import CoreConfig

__all__ = ["legal_multiplies"]


def legal_multiplies(config: CoreConfig) -> Iterator[MmaInstruction]:
    """Every combination of mnemonic, shape and types once; layouts do not matter to a multiply."""
    for family in config.families:
        operation = family.operations[0] if family.operations else None
        yield from dict.fromkeys(
            replace(instruction, saturate=False, rounding=None, operation=operation)
            for instruction in multiplies_of(family)
        )
