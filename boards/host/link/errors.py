"""What goes wrong on the way to a board."""


class LinkError(RuntimeError):
    """The board did not answer, or is not one that this software knows."""


class PortError(LinkError):
    """The port cannot be opened."""
