"""The error of a use that CUDA's compiler or documentation rules out."""


class Misuse(ValueError):
    """A use of the API that CUDA's compiler or documentation rules out.

    Parameters
    ----------
    what : str
        The function or fragment, and the offending value.
    rule : str
        What CUDA, PTX or the machine asks for.
    """

    def __init__(self, what: str, rule: str) -> None:
        self.what = what
        self.rule = rule
        super().__init__(f"{what}; {rule}")
