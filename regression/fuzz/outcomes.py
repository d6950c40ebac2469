"""Judges what an input did: a result, a documented error or a failure."""

import dis
import os
import shutil
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from golden.programs.array_types import ArrayTypeWarning
from regression.fuzz.kind import (
    ROOT,
    Closed,
    Files,
    Kind,
    PropertyError,
    digest,
    is_ours,
    require_short,
    steps,
)

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
    """Run an input in the current folder, which is empty before and after.

    Numpy's warnings count as failures: a user's input must not show them.
    """
    for name, content in files.items():
        Path(name).write_bytes(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ArrayTypeWarning)
            warnings.filterwarnings("ignore", "Data type alias", DeprecationWarning)
            warnings.filterwarnings("ignore", "Warning: converting a masked element", UserWarning)
            warnings.simplefilter("ignore", ResourceWarning)  # numpy's, of archives that are none
            return Outcome("result", digest(kind.run(files)))
    except Closed:
        return Outcome("result", "closed")
    except BaseException as error:  # noqa: BLE001  whatever it is, it is the outcome
        return _of_error(error, kind.errors)
    finally:
        _empty_folder()


def _empty_folder() -> None:
    with os.scandir() as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry)
            else:
                os.unlink(entry)


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
    return type(error) in (ValueError, TypeError, IndexError) and _is_raised_by_project(error)


def _is_raised_by_project(error: BaseException) -> bool:
    """Whether a ``raise`` of the project made it, and not an operation on something unforeseen."""
    code, instruction = list(steps(error))[-1]
    return is_ours(code) and code.co_code[instruction] == dis.opmap["RAISE_VARARGS"]


def _place(error: BaseException) -> str:
    """The innermost function of the project."""
    codes = [code for code, _ in steps(error)]
    own = [code for code in codes if is_ours(code)] or codes
    return f"{own[-1].co_filename.removeprefix(f'{ROOT}/')}:{own[-1].co_qualname}"
