"""Units with a fault put in, for which a proof must fail."""

from pathlib import Path
from types import ModuleType


def faulty(module: ModuleType, text: str, fault: str) -> ModuleType:
    """A module of hardware in which one piece of its source is another.

    Parameters
    ----------
    module : ModuleType
    text : str
        Occurs once in the source of the module.
    fault : str
        What stands there instead.

    Returns
    -------
    ModuleType

    Raises
    ------
    ValueError
        If `text` does not occur once: the source has changed, and the test must be brought up to it.
    """
    path = Path(str(module.__file__))
    source = path.read_text()
    if source.count(text) != 1:
        raise ValueError(f"{path.name} must have {text!r} once, but has it {source.count(text)} times")
    broken = ModuleType(module.__name__)
    exec(compile(source.replace(text, fault), str(path), "exec"), broken.__dict__)
    return broken
