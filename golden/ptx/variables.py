"""Which variables an entry names, and where they are."""

from collections.abc import Iterable, Mapping

from golden.ptx.syntax import Instruction, Symbol, Variable, parts

__all__ = ["named_variables", "place_shared"]


def named_variables(
    statements: Iterable[Instruction], variables: Mapping[str, Variable]
) -> tuple[Variable, ...]:
    """Those of `variables`, by key, that statements name, in the order of their declarations."""
    operands = [operand for statement in statements for operand in statement.operands]
    keys = {part.key for operand in operands for part in parts(operand) if isinstance(part, Symbol)}
    return tuple(variable for key, variable in variables.items() if key in keys)


def place_shared(variables: Iterable[Variable]) -> tuple[dict[str, int], int]:
    """Addresses in shared memory, from zero on, each the lowest with the variable's alignment.

    Arrays without a length are the memory that is left: they come last, all at the same place but for their
    alignment.

    Parameters
    ----------
    variables : iterable of Variable
        In the order of their declarations.

    Returns
    -------
    dict of str to int
        By key.
    int
        Bytes from the first to the last variable.
    """
    addresses: dict[str, int] = {}
    end = furthest = 0
    for variable in sorted(variables, key=lambda variable: variable.size is None):
        address = -(-end // variable.alignment) * variable.alignment
        addresses[variable.key] = address
        if variable.size is not None:
            end = address + variable.size
        furthest = max(furthest, address, end)
    return addresses, furthest
