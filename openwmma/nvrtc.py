"""Compiles CUDA C++ by NVRTC, in a process of its own: a fault of the library ends that process alone.

The process reads a JSON object with `library`, `name`, `text` and `options`, and answers with `ptx`, or with
`error`, the compiler's message. It imports nothing of this package.
"""

import ctypes
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

_IMPORT: Final = (
    "#include <cuda/std/cstddef>\n#include <cuda/std/{}>\nnamespace std {{ using namespace cuda::std; }}\n"
)
_C_HEADERS: Final = ("assert", "float", "limits", "math", "stddef", "stdint", "stdlib", "time")
_NUMBERS: Final = ("array", "atomic", "bit", "complex", "limits", "numeric")
_ITERATION: Final = ("functional", "initializer_list", "iterator", "memory")
_TYPES: Final = ("optional", "tuple", "type_traits", "utility", "variant")

HEADERS: Final[dict[str, str]] = (
    {name: _IMPORT.format(name) for name in (*_NUMBERS, *_ITERATION, *_TYPES)}
    | {name: _IMPORT.format(f"c{header}") for header in _C_HEADERS for name in (f"c{header}", f"{header}.h")}
    | {"algorithm": _IMPORT.format("__algorithm_")}
    | dict.fromkeys(("cstdio", "stdio.h", "cstring", "string.h"), "\n")
)
"""Standard headers, which nvcc takes from the host's compiler and NVRTC lacks: libcu++ has their contents."""

_MACROS: Final = (
    "-DINFINITY=__int_as_float(0x7f800000)",
    "-DNAN=__int_as_float(0x7fc00000)",
    "-diag-suppress=47",
)
"""nvcc has these of math.h without an include; that libcu++ defines them, too, is no warning."""


def compile_text(library: Path, text: str, name: str, options: list[str]) -> tuple[str, str]:
    """The PTX of a text and "", or "" and the message of the compiler."""
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        return "", f"{name}: a byte 0 in line {line}, where CUDA C++ has text"
    request = {"library": str(library), "text": text, "name": name, "options": options}
    done = subprocess.run(
        [sys.executable, "-I", __file__],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode < 0:
        return (
            "",
            f"{name}: NVRTC ended with {signal.Signals(-done.returncode).name}; nvcc -ptx may compile it",
        )
    if done.returncode:
        return "", f"{name}: {done.stderr.strip().splitlines()[-1]}"
    answer = json.loads(done.stdout)
    return answer["ptx"], answer["error"]


def _texts(values: list[str]) -> Any:
    return (ctypes.c_char_p * len(values))(*[value.encode() for value in values])


class _Nvrtc:
    """The library, called through its C interface."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        self._program = ctypes.c_void_p()

    def compile(self, text: str, name: str, options: list[str]) -> dict[str, str]:
        program = self._program
        folders = [Path(option[2:]) for option in options if option.startswith("-I")]
        headers = {
            key: own for key, own in HEADERS.items() if not any((at / key).is_file() for at in folders)
        }
        named = len(headers), _texts([*headers.values()]), _texts([*headers])
        self._call("nvrtcCreateProgram", ctypes.byref(program), text.encode(), name.encode(), *named)
        given = [*_MACROS, *options]
        if self._library.nvrtcCompileProgram(program, len(given), _texts(given)):
            return {"ptx": "", "error": self._text("ProgramLog").rstrip()}
        return {"ptx": self._text("PTX"), "error": ""}

    def _text(self, what: str) -> str:
        size = ctypes.c_size_t()
        self._call(f"nvrtcGet{what}Size", self._program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(max(1, size.value))
        self._call(f"nvrtcGet{what}", self._program, buffer)
        return buffer.value.decode(errors="replace")

    def _call(self, function: str, *arguments: Any) -> None:
        status = getattr(self._library, function)(*arguments)
        if status:
            describe = self._library.nvrtcGetErrorString
            describe.restype = ctypes.c_char_p
            raise OSError(f"{function}: {describe(status).decode()}")


if __name__ == "__main__":
    request = json.load(sys.stdin)
    library = _Nvrtc(request.pop("library"))
    json.dump(library.compile(**request), sys.stdout)
