"""openwmma's executable specification: every result of a tensor core, to the bit.

The names below load their modules on first use, so that `golden.tables` and `golden.explain` need no numpy.
"""

from typing import TYPE_CHECKING

from golden.first_use import loaded_on_first_use

if TYPE_CHECKING:
    from golden.approximation.call import approximate
    from golden.explanation.explain import explain
    from golden.fragments import collect, distribute, fragment_layout
    from golden.invalid_argument import InvalidArgument
    from golden.multiply import mma

__all__ = ["InvalidArgument", "approximate", "collect", "distribute", "explain", "fragment_layout", "mma"]

__getattr__, __dir__ = loaded_on_first_use(__name__)
