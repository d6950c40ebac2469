"""The error of bad input, in a module that needs no packages."""

from golden.message_text import sentence


class UsageError(ValueError):
    """What came on the command line or from a page, and what was expected, in one line."""

    def __init__(self, message: str) -> None:
        super().__init__(sentence(message))
