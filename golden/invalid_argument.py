"""The error of an argument that cannot be used, and the warning of a doubtful one."""

from golden.message_text import sentence


class InvalidArgument(ValueError):
    """An argument that cannot be used: its name, what came, and what is allowed."""

    def __init__(self, argument: str, given: str, allowed: str) -> None:
        self.argument = argument
        self.given = given
        self.allowed = allowed
        super().__init__(sentence(f"{argument}: got {given}; allowed: {allowed}"))


class ArrayTypeWarning(UserWarning):
    """An array of values is loaded as another type, as float64 by a load of f16."""
