"""Registers between the stages of a pipeline that never stops."""

from amaranth.hdl import Module, Signal, ValueLike

__all__ = ["delay", "register"]


def register(
    m: Module, value: ValueLike, name: str, *, reset_less: bool = True, src_loc_at: int = 0
) -> Signal:
    """One pipeline register, of data without reset.

    Whether its content means anything is told by a bit that travels beside the data, so a reset here
    would only cost routing.

    Parameters
    ----------
    m : Module
        Where the register lives; its ``sync`` domain clocks it.
    value : value-like
        What it holds one cycle later.
    name : str
        Name of the register in waveforms and netlists.
    reset_less : bool
        False for such a bit.
    src_loc_at : int
        How many calls further up the line stands that the register belongs to.

    Returns
    -------
    Signal
        `value`, one cycle late.
    """
    held = Signal.like(value, name=name, reset_less=reset_less, src_loc_at=1 + src_loc_at)
    m.d.sync += held.eq(value)
    return held


def delay(m: Module, value: ValueLike, cycles: int, name: str, *, reset_less: bool = True) -> ValueLike:
    """`value` as it was `cycles` cycles ago; `cycles` may be 0.

    Parameters
    ----------
    m : Module
    value : value-like
    cycles : int
    name : str
        Stem of the registers' names; the cycle number is appended.
    reset_less : bool
        As for `register`.

    Returns
    -------
    value-like
    """
    for cycle in range(cycles):
        value = register(m, value, f"{name}_{cycle + 1}", reset_less=reset_less, src_loc_at=1)
    return value
