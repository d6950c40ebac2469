"""The engine: compiles the functions of `golden.arithmetic` with numba, keeps them on disk, uses every core.

Compiled code is kept in a folder for these sources and this version of numba: below ``NUMBA_CACHE_DIR`` if
it is set, else below the user's cache folder. Where it cannot be written, each process compiles anew.
numba's own cache is not used: it numbers functions of one name, so that of several processes one may find the
code of another format under its number.
"""

import hashlib
import os
import pickle
import sys
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from itertools import accumulate
from pathlib import Path
from types import FunctionType
from typing import Any, Final

import numba
import numpy as np
import platformdirs
from numba.core import config as numba_config
from numba.core import event
from numba.core.caching import NullCache
from numba.core.compiler import Compiler, CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.event import Listener
from numpy.typing import NDArray

from golden.arithmetic.intrinsics import register_marked
from golden.integers import checked_integer, parsed_integer

THREADS_VARIABLE: Final = "OPENWMMA_THREADS"
"""Environment variable: threads of a computation that is not told how many; default, the cores it may use."""

_PATIENCE_SECONDS: Final = 2.0
_DIGEST_BYTES: Final = hashlib.sha256().digest_size
_LINES: Final = 64
"""Words of 32 bits in as many cache lines as a processor may fetch at once."""
_PACKAGE: Final = Path(__file__).parents[1]
_config: Final[Any] = numba_config
_lock: Final = threading.RLock()


@cache
def _folder() -> Path | None:
    """Where compiled code of these sources is kept; None where nothing can be written."""
    digest = hashlib.sha256(numba.__version__.encode())
    for name in ("arithmetic", "approximation", "scalar"):
        for source in sorted((_PACKAGE / name).glob("*.*")):
            digest.update(source.read_bytes())
    base = _config.CACHE_DIR or platformdirs.user_cache_dir("openwmma")
    folder = Path(base) / f"golden-{digest.hexdigest()[:16]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


class _Apart(Compiler):
    """Tells LLVM that the arrays of a kernel do not overlap."""

    def define_pipelines(self) -> Any:
        self.state.flags.noalias = True
        return super().define_pipelines()  # type: ignore[no-untyped-call]


class Compiled:
    """A function that is compiled on its first call for each kind of arguments.

    It takes integers, layouts and arrays of integers, and may call every marked function. Other threads run
    while it does. No array that it writes may share memory with another one, so that loops become vectors.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Compile if nothing did for arguments of these types, and compute."""
        return self.dispatcher()(*arguments)

    def dispatcher(self) -> Any:
        """What numba made of the function, which other kernels may call."""
        if self._dispatcher is None:
            with _lock:
                self._dispatcher = self._dispatcher or _dispatcher(self.function)
        return self._dispatcher


def _dispatcher(function: Callable[..., Any]) -> Any:
    if register_marked():
        event.register("numba:compile", _Message())  # type: ignore[no-untyped-call]
    name = hashlib.sha256(repr(_described(function)).encode()).hexdigest()[:32]
    # The linker, too, knows a function by its name.
    function.__qualname__ += f"_{name}"
    # Kernels allocate nothing, so the arrays' reference counts need not follow each view (_nrt).
    options: dict[str, Any] = {"nogil": True, "_nrt": False}
    dispatcher = numba.njit(function, pipeline_class=_Apart, **options)
    if folder := _folder():
        dispatcher._cache = _Cache(folder, name)
    return dispatcher


class _Cache(NullCache):
    """Keeps each function for each kind of arguments in a file of its own, which appears there whole."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled function for these arguments; None if it is not there."""
        target.refresh()
        path = self._file(signature, target.codegen())
        with suppress(OSError):
            content = path.read_bytes()
            if content.startswith(_digest(path, kept := content[_DIGEST_BYTES:])):
                return CompileResult._rebuild(target, *pickle.loads(kept))  # type: ignore[no-untyped-call]
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a compiled function, unless there is no room, or an address of this process is in it."""
        if compiled.library.has_dynamic_globals:
            return
        partial = self._folder / f"partial-{uuid.uuid4().hex}"
        try:
            path = self._file(signature, compiled.library.codegen)
            kept = pickle.dumps(compiled._reduce())
            partial.write_bytes(_digest(path, kept) + kept)
            partial.replace(path)
        except OSError:
            partial.unlink(missing_ok=True)

    def _file(self, signature: Any, codegen: Any) -> Path:
        kind = str(signature), codegen.magic_tuple(), sys.version
        return self._folder / f"{self._name}-{hashlib.sha256(repr(kind).encode()).hexdigest()[:32]}.nbc"


def _digest(path: Path, kept: bytes) -> bytes:
    """Begins a file of compiled code; its name is in it, as a file may be moved to another one's place."""
    return hashlib.sha256(path.name.encode() + kept).digest()


def _described(constant: Any) -> Any:
    """A function by its name and all that it refers to; numbers and layouts as they are."""
    function = constant.py_func if isinstance(constant, Dispatcher) else constant
    if not isinstance(function, FunctionType):
        return constant
    cells = [_described(cell.cell_contents) for cell in function.__closure__ or ()]
    return function.__module__, function.__qualname__, *cells


class _Message(Listener):
    """Says so if compilation takes long."""

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        if self._timer is None:
            self._timer = threading.Timer(_PATIENCE_SECONDS, _say)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:
        if self._timer is not None:
            self._timer.cancel()


def _say() -> None:
    text = "golden: compiling the arithmetic for its first use; this takes some seconds, once"
    print(text, file=sys.stderr, flush=True)


def thread_count(threads: int | None = None) -> int:
    """The number of threads asked for: by the argument, by `THREADS_VARIABLE`, or one for each core.

    InvalidArgument for anything but an integer from 1 on.
    """
    name, given = "threads", threads
    if threads is None:
        text = os.environ.get(THREADS_VARIABLE)
        if not text:
            return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        name, given = THREADS_VARIABLE, parsed_integer(text) or text  # type: ignore[assignment]
    return checked_integer(name, given, 1)


def read_only(*arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Views that are contiguous and cannot be written: one type for kernels, which are then compiled once."""
    views = tuple(np.ascontiguousarray(array).view() for array in arrays)
    for view in views:
        view.flags.writeable = False
    return views


def scratch(*parts: tuple[int, Any]) -> tuple[NDArray[Any], ...]:
    """Memory for arrays of so many words of a type, on cache lines that no other thread's words share."""
    sizes = [-(-count // _LINES) * _LINES for count, _ in parts]
    words = np.empty(_LINES + sum(sizes) + _LINES, np.int32)
    starts = accumulate(sizes, initial=_LINES - words.ctypes.data % (4 * _LINES) // 4)
    return tuple(words[x : x + count].view(kind) for x, (count, kind) in zip(starts, parts, strict=False))


def run_chunks(work: Callable[[slice], None], count: int, step: int, threads: int | None = None) -> None:
    """Call `work` for slices of ``range(count)`` of at most `step` items, in several threads at once.

    It releases the interpreter while it computes. For the number of threads see `thread_count`.
    """
    pieces = [slice(start, min(start + step, count)) for start in range(0, count, step)]
    threads = thread_count(threads) if threads is not None or len(pieces) > 1 else 1
    remaining = iter(pieces)

    def share() -> None:
        for piece in remaining:
            work(piece)

    others = min(threads, len(pieces)) - 1
    if others <= 0:
        share()
        return
    with ThreadPoolExecutor(others) as pool:
        shares = [pool.submit(share) for _ in range(others)]
        share()
    for each in shares:
        each.result()
