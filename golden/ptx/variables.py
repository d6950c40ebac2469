"""Which variables an entry names, and where they and the parameters are."""

from collections.abc import Iterable
from dataclasses import replace

from golden.ptx.syntax import Function, Instruction, Symbol, Variable, parts


def named(statements: Iterable[Instruction]) -> frozenset[str]:
    """The keys of what statements name."""
    operands = (operand for statement in statements for operand in statement.operands)
    return frozenset(part.key for operand in operands for part in parts(operand) if isinstance(part, Symbol))


def place_parameters(entry: Function) -> tuple[tuple[Variable, int], ...]:
    """The parameters with their offsets, in the state space of an entry's."""
    placed = []
    end = 0
    for parameter in entry.parameters:
        offset = -(-end // parameter.alignment) * parameter.alignment
        placed.append((replace(parameter, space="entry"), offset))
        end = offset + (parameter.size or 0)
    return tuple(placed)


def place_shared(variables: Iterable[Variable]) -> tuple[dict[str, int], int]:
    """Addresses in shared memory by key, from zero on, each the lowest with the variable's alignment.

    Arrays without a length are the memory that is left: all begin behind the others. Where that is, is the
    second result. The variables come in the order of their declarations.
    """
    addresses: dict[str, int] = {}
    end = 0
    dynamic = []
    for variable in variables:
        if variable.size is None or (variable.external and variable.is_array and not variable.size):
            dynamic.append(variable)
            continue
        addresses[variable.key] = -(-end // variable.alignment) * variable.alignment
        end = addresses[variable.key] + variable.size
    alignment = max((variable.alignment for variable in dynamic), default=1)
    base = -(-end // alignment) * alignment
    return addresses | {variable.key: base for variable in dynamic}, base
