"""The error of bad input, in a module that imports nothing."""

__all__ = ["UsageError"]


class UsageError(ValueError):
    """What came on the command line or from a page, and what was expected, in one line."""
