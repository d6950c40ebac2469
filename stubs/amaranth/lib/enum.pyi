import enum
from typing import Any

class Enum(enum.Enum):  # type: ignore[misc]  # members are the subclasses'
    def __init_subclass__(cls, *, shape: Any = ..., view_class: Any = ...) -> None: ...

class IntEnum(enum.IntEnum):  # type: ignore[misc]
    def __init_subclass__(cls, *, shape: Any = ..., view_class: Any = ...) -> None: ...

class Flag(enum.Flag):  # type: ignore[misc]
    def __init_subclass__(cls, *, shape: Any = ..., view_class: Any = ...) -> None: ...
