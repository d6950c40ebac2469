"""Registers between the stages of a pipeline that never stops."""

from amaranth.hdl import Module, Signal, ValueLike

__all__ = ["delay", "register"]


def register(m: Module, value: ValueLike, name: str) -> Signal:
    """One pipeline register without reset.

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

    Returns
    -------
    Signal
        `value`, one cycle late.
    """
    held = Signal.like(value, name=name, reset_less=True)
    m.d.sync += held.eq(value)
    return held


def delay(m: Module, value: ValueLike, cycles: int, name: str) -> ValueLike:
    """`value` as it was `cycles` cycles ago; `cycles` may be 0.

    Parameters
    ----------
    m : Module
    value : value-like
    cycles : int
    name : str
        Stem of the registers' names; the cycle number is appended.

    Returns
    -------
    value-like
    """
    for cycle in range(cycles):
        value = register(m, value, f"{name}_{cycle + 1}")
    return value
