"""Turns among several that want something."""

from amaranth.hdl import Module, Signal


def take_turns(m: Module, name: str, wants: Signal) -> Signal:
    """Whose turn it is: round robin, and a turn lasts as long as its holder wants it.

    Latency: 1 cycle from the holder's last one to the turn of the next; none for the holder that wants again
    before anybody else does. Expected critical path: one level of a choice for each warp.

    Parameters
    ----------
    m : Module
    name : str
        Of the register.
    wants : Signal
        A bit for each participant.

    Returns
    -------
    Signal
        The number of the holder, from a register.
    """
    count = len(wants)
    turn = Signal(range(max(count, 2)), name=name)
    if count > 1:
        with m.Switch(turn):
            for holder in range(count):
                with m.Case(holder), m.If(~wants[holder]):
                    for distance in reversed(range(1, count)):
                        other = (holder + distance) % count
                        with m.If(wants[other]):
                            m.d.sync += turn.eq(other)
    return turn
