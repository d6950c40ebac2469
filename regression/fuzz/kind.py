"""A kind of input, and what comes of one input: a result, a documented error or a failure."""

import dis
import hashlib
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import CodeType
from typing import Any, Final

import numpy as np

from boards.host.link.errors import LinkError
from golden.invalid_argument import InvalidArgument
from golden.machine import Difference
from golden.programs.execution import ProgramFault
from golden.ptx.source import PtxError
from golden.simt.errors import SimtError
from golden.tables.faults import Fault
from golden.tables.matrix_instructions import IllegalInstruction
from openwmma.cuda_source import CompilerError
from openwmma.usage_error import UsageError
from regression.identity import ROOT
from sim.capabilities import CapabilityError

Files = Mapping[str, bytes]
"""An input: the contents of files by name, which lie in an empty folder when it runs."""

DOCUMENTED: Final = (
    *(PtxError, SimtError, ProgramFault, Fault, Difference, InvalidArgument, IllegalInstruction),
    *(UsageError, CapabilityError, CompilerError, LinkError),
)
"""The errors of the public functions; a kind whose entrance documents fewer names them itself."""

UNDER_TEST: Final = tuple(f"{ROOT}/{folder}/" for folder in ("golden", "hdl", "openwmma", "sim", "boards"))
"""Folders of what is under test, each with a slash."""
_LONGEST_MESSAGE: Final = 2000


class PropertyError(Exception):
    """A result that breaks a rule, which names the finding: one for each rule that is broken."""

    def __init__(self, rule: str, seen: str) -> None:
        self.rule = rule
        super().__init__(f"{rule}: {seen}")


class Closed(BaseException):
    """An input that leads to a synthesis, a simulator's build or a browser, which a worker does not start."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of input."""

    make: Callable[[Random], Files]
    """Draws an input."""
    run: Callable[[Files], Any]
    """Runs an input in the current folder, which holds its files. Returns what the result consists of: bytes,
    numbers, text, arrays, and tuples of them, equal in each run of one input."""
    errors: tuple[type[Exception], ...] = DOCUMENTED
    """What the docstrings of the entrance list under Raises."""
    pieces: str | None = r"[A-Za-z0-9_]+|\s+|."
    """A regular expression of the parts that shrinking leaves out, last of lines; None if a part of an input
    is no input."""


def attempt(errors: tuple[type[Exception], ...], part: Callable[[], Any]) -> Any:
    """The result of one of several parts of an input, or the class of its documented error."""
    try:
        return part()
    except errors as error:
        require_short(error)
        return type(error).__name__


def steps(error: BaseException) -> Iterator[tuple[CodeType, int]]:
    """The code and the instruction of each call of a traceback, the outermost first."""
    step = error.__traceback__
    while step is not None:
        yield step.tb_frame.f_code, step.tb_lasti
        step = step.tb_next


def is_ours(code: CodeType) -> bool:
    """Whether code belongs to what is under test."""
    return code.co_filename.startswith(UNDER_TEST)


def reaches_project(error: BaseException) -> bool:
    """Whether an error comes from what is under test, or of a property that it breaks."""
    return isinstance(error, PropertyError) or any(is_ours(code) for code, _ in steps(error))


def require_short(error: BaseException) -> None:
    """PropertyError for a message that is not one sentence; Python's own shows the whole name of a file."""
    if not isinstance(error, OSError) and len(str(error)) > _LONGEST_MESSAGE:
        rule = f"the message of {type(error).__name__} is short"
        raise PropertyError(rule, f"{len(str(error))} characters: {str(error)[:300]!r}") from None


def digest(result: Any) -> str:
    """Equal for equal results: arrays by their bytes, objects of the project by their class."""
    return hashlib.blake2b(_canonical(result), digest_size=12).hexdigest()


def _canonical(result: Any) -> bytes:
    if isinstance(result, np.ndarray):
        # The padding of a long double has no meaning.
        content = repr(result.tolist()).encode() if result.dtype == np.longdouble else result.tobytes()
        return repr((result.dtype.name, result.dtype.str, result.shape)).encode() + content
    if isinstance(result, tuple | list):
        return b"(" + b",".join(map(_canonical, result)) + b")"
    if isinstance(result, bytes):
        return result
    plain = isinstance(result, str | int | float | bool | np.generic | type(None))
    return (repr(result) if plain else type(result).__name__).encode("utf-8", "surrogatepass")


_SHOWN_LINES: Final = 12


@dataclass(frozen=True)
class Outcome:
    """What came of one input."""

    kind: str
    """``result``, ``error`` or ``failure``."""
    what: str
    """A digest of the result, the class of the error, or the class of the failure: failures with the same
    text count as one finding."""
    detail: str = ""
    """Of a failure: the end of its traceback."""

    @property
    def is_failure(self) -> bool:
        """Whether it is a finding."""
        return self.kind == "failure"


def judge(kind: Kind, files: Files) -> Outcome:
    """Run an input in a folder of its own.

    Numpy's warnings count as failures: a user's input must not show them.
    """
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for name, content in files.items():
            Path(name).write_bytes(content)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.filterwarnings("ignore", "Data type alias", DeprecationWarning)
                warnings.filterwarnings("ignore", "Warning: converting a masked element", UserWarning)
                warnings.simplefilter("ignore", ResourceWarning)  # numpy's, of archives that are none
                return Outcome("result", digest(kind.run(files)))
        except Closed:
            return Outcome("result", "closed")
        except BaseException as error:  # noqa: BLE001  whatever it is, it is the outcome
            return _of_error(error, kind.errors)


def _of_error(error: BaseException, documented: tuple[type[Exception], ...]) -> Outcome:
    name = type(error).__name__
    if _is_documented(error, documented):
        try:
            require_short(error)
        except PropertyError as long:
            error = long
        else:
            return Outcome("error", name)
    lines = "".join(traceback.format_exception(error)).rstrip().replace(f"{ROOT}/", "").splitlines()
    detail = "\n".join(line[:300] for line in lines[-_SHOWN_LINES:])
    what = error.rule if isinstance(error, PropertyError) else f"{name} in {_place(error)}"
    return Outcome("failure", what, detail)


def _is_documented(error: BaseException, documented: tuple[type[Exception], ...]) -> bool:
    if isinstance(error, documented):
        return True
    if isinstance(error, OSError):
        return error.filename is not None
    if type(error) not in (ValueError, TypeError, IndexError):
        return False
    # A ``raise`` of the project made it, and not an operation on something unforeseen.
    code, instruction = list(steps(error))[-1]
    return is_ours(code) and code.co_code[instruction] == dis.opmap["RAISE_VARARGS"]


def _place(error: BaseException) -> str:
    """The innermost function of the project."""
    codes = [code for code, _ in steps(error)]
    own = [code for code in codes if is_ours(code)] or codes
    return f"{own[-1].co_filename.removeprefix(f'{ROOT}/')}:{own[-1].co_qualname}"
