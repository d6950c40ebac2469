"""What can go wrong from a launch to its end; errors in the text are `golden.ptx.source.PtxError`."""

from golden.message_text import sentence


class SimtError(Exception):
    """A launch that cannot begin, or a kernel that cannot go on; the message is one sentence."""

    def __init__(self, message: str) -> None:
        super().__init__(sentence(message))


class LaunchError(SimtError, ValueError):
    """A launch whose grid, block, shared memory or arguments do not fit the kernel or the machine."""

    @classmethod
    def refused(cls, name: str, given: str, allowed: str) -> "LaunchError":
        """The error of a value that is not allowed."""
        return cls(f"{name} must be {allowed}, not {given}")


class KernelFault(SimtError):
    """A kernel that did what is not allowed.

    The message says what it did, with the value and the rule. `kernel` is its readable name, `place` file,
    line and text of the instruction, `block` and `thread` are the indices of the block and of the first
    thread at fault, `address` is the generic address, where there is one.
    """

    def __init__(
        self,
        message: str,
        *,
        kernel: str = "",
        place: str = "",
        block: tuple[int, int, int] | None = None,
        thread: tuple[int, int, int] | None = None,
        address: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.place = place
        self.block = block
        self.thread = thread
        self.address = address
        named = {"kernel": kernel or None, "block": block, "thread": thread}
        where = ", ".join(f"{what} {item}" for what, item in named.items() if item is not None)
        text = f"{message} ({where})" if where else message
        super().__init__(f"{text} at {place}" if place else text)


class Deadlock(KernelFault):
    """All threads that are left wait for something that none of them will do."""


class StepLimit(KernelFault):
    """A kernel executed more instructions than the limit of its launch."""
