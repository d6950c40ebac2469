"""The error of an argument that cannot be used."""

from golden.message_text import sentence


class InvalidArgument(ValueError):
    """An argument that cannot be used: its name, what came, and what is allowed."""

    def __init__(self, argument: str, given: str, allowed: str) -> None:
        self.argument = argument
        self.given = given
        self.allowed = allowed
        super().__init__(sentence(f"{argument}: got {given}; allowed: {allowed}"))
