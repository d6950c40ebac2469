"""Where the variables of an entry are."""

from collections.abc import Iterable

from golden.ptx.syntax import Address, EntryDefinition, Symbol, Variable

__all__ = ["named_variables", "place_shared"]


def named_variables(entry: EntryDefinition) -> tuple[Variable, ...]:
    """The variables that the statements of an entry name, in the order of their declarations."""
    operands = [operand for statement in entry.statements for operand in statement.operands]
    parts = [operand.base if isinstance(operand, Address) else operand for operand in operands]
    names = {part.name for part in parts if isinstance(part, Symbol)}
    return tuple(variable for variable in entry.variables.values() if variable.name in names)


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
        By name.
    int
        Bytes from the first to the last variable.
    """
    addresses: dict[str, int] = {}
    end = furthest = 0
    for variable in sorted(variables, key=lambda variable: variable.size is None):
        address = -(-end // variable.alignment) * variable.alignment
        addresses[variable.name] = address
        if variable.size is not None:
            end = address + variable.size
        furthest = max(furthest, address, end)
    return addresses, furthest
