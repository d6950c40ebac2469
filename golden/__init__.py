"""openwmma's executable specification: every result of a tensor core, to the bit, in numpy."""

from golden.approximation.call import approximate
from golden.arguments import InvalidArgument
from golden.explanation.explain import explain
from golden.fragments import collect, distribute, fragment_layout
from golden.multiply import mma

__all__ = ["InvalidArgument", "approximate", "collect", "distribute", "explain", "fragment_layout", "mma"]
