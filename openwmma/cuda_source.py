"""Compiles CUDA C++ to PTX: with NVRTC from PyPI (the extra ``cuda``), or with nvcc where it is on the path.

Neither needs a GPU.
"""

import importlib.util
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from golden.installation import install_command
from golden.ptx.source import source_text
from openwmma.nvrtc import compile_text

ARCHITECTURE: Final = "sm_90"
"""What is compiled for, unless the options name another one."""

_STANDARD: Final = "--std=c++17"
_PACKAGE: Final = "nvidia"
_INCLUDES: Final = ("cuda_runtime", "cuda_nvcc", "cuda_cccl", "cuda_nvrtc")
"""Packages whose headers CUDA C++ includes: mma.h, crt/, cuda/std."""


class CompilerError(Exception):
    """CUDA C++ that does not compile; the message is the compiler's, unchanged. Or there is no compiler."""


def is_cuda(path: Path) -> bool:
    """Whether a file is CUDA C++, by its name."""
    return path.suffix == ".cu"


def compile_file(path: Path, options: Sequence[str] = ()) -> str:
    """Compile CUDA C++ to PTX. Headers beside the file are found.

    Of the compiler's options, ``-arch`` and ``-std`` replace ``sm_90`` and ``c++17``. OSError for a file
    that cannot be read, `golden.ptx.source.PtxError` for one that is not UTF-8, CompilerError.
    """
    text = source_text(path.read_bytes(), str(path))
    return _compile(text, path, ("-I", str(path.resolve().parent), *options))


def _compile(text: str, path: Path, options: Sequence[str]) -> str:
    """Compile the text of a file."""
    given = list(options)
    if not any(option.startswith(("-arch", "--gpu-architecture")) for option in given):
        given.append(f"-arch={ARCHITECTURE}")
    if not any(option.startswith(("-std", "--std")) for option in given):
        given.append(_STANDARD)
    folder = nvrtc_folder()
    if folder is not None:
        joined = [*_nvrtc_options(given), *_include_options(folder)]
        ptx, error = compile_text(_library(folder), text, str(path), joined)
        if error:
            raise CompilerError(error)
        return ptx
    nvcc = shutil.which("nvcc")
    if nvcc is not None:
        return _compile_with_nvcc(nvcc, path, given)
    raise CompilerError(
        f"{path}: there is no compiler for CUDA C++; install one with: {install_command('cuda')}, "
        "or put nvcc on the path"
    )


def nvrtc_folder() -> Path | None:
    """The folder ``nvidia`` with the packages of NVRTC; None where it is not installed."""
    found = importlib.util.find_spec(_PACKAGE)
    for place in (found.submodule_search_locations or ()) if found is not None else ():
        if any(Path(place).glob("cuda_nvrtc/lib/libnvrtc.so*")):
            return Path(place)
    return None


def _library(folder: Path) -> Path:
    libraries = sorted(folder.glob("cuda_nvrtc/lib/libnvrtc.so*"))
    return next(path for path in libraries if "builtins" not in path.name)


def _include_options(folder: Path) -> list[str]:
    return [f"-I{folder / name / 'include'}" for name in _INCLUDES if (folder / name / "include").is_dir()]


def _nvrtc_options(given: list[str]) -> list[str]:
    """NVRTC wants an option and its value in one piece."""
    joined: list[str] = []
    waiting = False
    for option in given:
        if waiting:
            joined[-1] += option
        else:
            joined.append(option)
        waiting = not waiting and option in ("-I", "-D", "-U")
    return joined


def _compile_with_nvcc(nvcc: str, source: Path, options: Sequence[str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "kernel.ptx"
        done = subprocess.run(
            [nvcc, "-ptx", *options, "-o", str(target), str(source)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise CompilerError((done.stderr + done.stdout).rstrip())
        return target.read_text()
