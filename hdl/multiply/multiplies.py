"""The multiplies of a core, as far as its hardware tells them apart."""

from collections.abc import Iterator
from itertools import product

from golden.tables.matrix_instructions import MmaInstruction
from hdl.config import CoreConfig

__all__ = ["legal_multiplies"]


def legal_multiplies(config: CoreConfig) -> Iterator[MmaInstruction]:
    """Every combination of mnemonic, shape and types once; layouts do not matter to a multiply."""
    for family in config.families:
        types = [
            (a_type, b_type)
            for a_type in family.multiplicands
            for b_type in family.multiplicands
            if family.mixed or a_type == b_type
        ]
        accumulators = [
            (c, d)
            for c in family.accumulators
            for d in family.accumulators
            if c == d or not family.same_accumulators
        ]
        for shape, (a_type, b_type), (c_type, d_type) in product(family.shapes, types, accumulators):
            yield MmaInstruction(
                mnemonic=family.mnemonic,
                shape=shape,
                a_layout="row",
                b_layout="col",
                a_type=a_type,
                b_type=b_type,
                c_type=c_type,
                d_type=d_type,
                operation=family.operations[0] if family.operations else None,
            )
