"""Compares the golden model with a GPU: every instruction that both have, on all cores of this computer.

Work is divided into tasks: one instruction on one seed. Each process has a GPU of its own to talk to (a
context of the same chip), draws operands, and compares all bits of the results.
"""

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from time import monotonic
from typing import Any, Final

import numpy as np

from golden.approximation.instructions import FORMS
from golden.approximation.operations import operation
from golden.arithmetic.engine import thread_count
from golden.invalid_argument import InvalidArgument
from golden.multiply import mma
from golden.random_operands import random_metadata, random_operands
from golden.resolve import resolve_instruction
from golden.simt.errors import LaunchError
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import (
    FAMILIES,
    QUAD_PAIRS,
    SPARSE_FAMILIES,
    SPARSE_WGMMA_FAMILIES,
    WGMMA_FAMILIES,
)
from golden.tables.matrix_instructions import MmaInstruction, multiplies_of
from golden.tables.profiles import PROFILES
from openwmma.gpu.driver import Gpu, open_gpu
from openwmma.gpu.multiply import approximate_on_gpu, multiply_on_gpu

RESULTS: Final = 1 << 21
"""Of a task."""

_DRAWN: Final = 48
"""Tiles that a task draws; it combines the A of one with the B and the C of others."""

_SHOWN: Final = 3
"""Wrong results of an instruction that are told."""

_PROBES: Final = (
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
    "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32",
)
"""Instructions whose results tell the generations apart."""


@dataclass
class Line:
    """What is known of an instruction."""

    results: int = 0
    wrong: int = 0
    examples: tuple[str, ...] = ()
    missing: str = ""
    """Why the GPU does not have the instruction."""

    def add(self, found: "Line") -> None:
        """Count what a task has found."""
        self.results += found.results
        self.wrong += found.wrong
        self.examples = (*self.examples, *found.examples)[:_SHOWN]
        self.missing = self.missing or found.missing


@dataclass
class Certificate:
    """What a comparison found."""

    gpu: str
    """Its name."""
    seed: int
    lines: dict[str, Line] = field(default_factory=dict)
    """By instruction."""

    def rows(self) -> list[tuple[str, Line]]:
        """Instructions with what is known of them, those that differ first, those that are missing last."""
        return sorted(self.lines.items(), key=lambda item: (item[1].wrong == 0, bool(item[1].missing)))

    @property
    def results(self) -> int:
        """All results that were compared."""
        return sum(line.results for line in self.lines.values())

    @property
    def wrong(self) -> int:
        """Results that differ."""
        return sum(line.wrong for line in self.lines.values())


def instructions() -> tuple[str, ...]:
    """Every multiply without satf, of `wgmma` the narrowest, the widest and one between, and every form.

    Sparse fp8, which the assembler emulates, is left out.
    """
    multiplies = []
    sparse = [family for family in SPARSE_FAMILIES if "fp8" not in family.formats]
    for family in (*FAMILIES, QUAD_PAIRS, *sparse, *WGMMA_FAMILIES, *SPARSE_WGMMA_FAMILIES):
        widths = sorted({shape.n for shape in family.shapes})
        chosen = {widths[0], widths[len(widths) // 2], widths[-1]} if family.is_warpgroup else {*widths}
        multiplies += [
            str(instruction)
            for instruction in multiplies_of(family)
            if instruction.shape.n in chosen and not (instruction.saturate and family.saturate == "float")
        ]
    return (*multiplies, *FORMS)


_open: Final = ExitStack()
"""The GPUs of this process, which stay open until it ends."""


@cache
def _gpu(number: int) -> Gpu:
    return _open.enter_context(open_gpu(number))


def compare(text: str, seed: int, profile: str, number: int = 0) -> tuple[str, Line]:
    """Compare one of `instructions` on one seed, for some millions of results.

    The process keeps the GPU. LaunchError without one.
    """
    gpu = _gpu(number)
    random = np.random.default_rng([seed, *text.encode()])
    try:
        is_form = text in FORMS
        return text, _approximate(gpu, text, random) if is_form else _multiply(gpu, text, random, profile)
    except (LaunchError, InvalidArgument) as error:
        return text, Line(missing=str(error))


def _multiply(gpu: Gpu, text: str, random: np.random.Generator, profile: str) -> Line:
    instruction = resolve_instruction(text)
    tiles = max(1, RESULTS // (instruction.shape.m * instruction.shape.n))
    drawn = random_operands(random, instruction, min(_DRAWN, tiles))
    a, b, c = (matrix[random.integers(0, len(matrix), tiles)] for matrix in drawn)
    if isinstance(FORMATS[instruction.a_type], FloatFormat):
        # Of every other tile the A, B and C belong together: their products may cancel.
        same = random.integers(0, len(drawn[0]), tiles // 2)
        for combined, matrix in zip((a, b, c), drawn, strict=True):
            combined[: len(same)] = matrix[same]
        a ^= random.integers(0, 2, (tiles, a.shape[1], 1)).astype(a.dtype) << a.dtype.type(
            FORMATS[instruction.a_type].bits - 1
        )
    metadata = random_metadata(random, instruction, tiles) if instruction.is_sparse else None
    found = multiply_on_gpu(gpu, instruction, a, b, c, metadata)
    expected = mma(instruction, a, b, c, metadata=metadata, profile=profile, threads=1)
    wrong = np.argwhere(found != expected)
    examples = tuple(
        f"a={[hex(x) for x in a[t, i]]} b={[hex(x) for x in b[t, :, j]]} c={c[t, i, j]:#x}: "
        f"golden {expected[t, i, j]:#x}, GPU {found[t, i, j]:#x}"
        for t, i, j in wrong[:_SHOWN]
    )
    return Line(found.size, len(wrong), examples)


def _approximate(gpu: Gpu, text: str, random: np.random.Generator) -> Line:
    form = FORMS[text]
    operands = [
        random.integers(0, 1 << form.bits, RESULTS, f"u{form.bits // 8}") for _ in range(form.operands)
    ]
    found = approximate_on_gpu(gpu, text, operands)
    expected = operation(text)(*operands)
    wrong = np.flatnonzero(found != expected)
    examples = tuple(
        f"{', '.join(hex(x[i]) for x in operands)}: golden {expected[i]:#x}, GPU {found[i]:#x}"
        for i in wrong[:_SHOWN]
    )
    return Line(found.size, len(wrong), examples)


def followed_profiles(number: int) -> tuple[str, tuple[str, ...]]:
    """The name of a GPU, and the profiles that give its results of `_PROBES`."""
    names = list(PROFILES)
    with open_gpu(number) as gpu:
        for text in _PROBES:
            instruction = resolve_instruction(text)
            operands = random_operands(np.random.default_rng(1), instruction, 600)
            try:
                found = multiply_on_gpu(gpu, instruction, *operands)
            except LaunchError:
                continue  # generations before ampere have no tf32
            names = [name for name in names if _gives(found, instruction, operands, name)]
        return gpu.name, tuple(names)


def _gives(found: Any, instruction: MmaInstruction, operands: Sequence[Any], profile: str) -> bool:
    try:
        return np.array_equal(mma(instruction, *operands, profile=profile), found)
    except InvalidArgument:  # a profile without the type
        return False


def certify(
    chosen: Sequence[str],
    *,
    gpu: int = 0,
    profile: str = "hopper",
    seed: int,
    seconds: float | None = None,
    results: int | None = None,
    jobs: int | None = None,
    name: str = "",
) -> Iterator[Certificate]:
    """Compare until a time is over or so many results have been compared; at least once each instruction.

    The instructions are of `instructions`; the same seed draws the same operands. The same certificate is
    yielded after each task. There are as many processes as cores by default.
    """
    certificate = Certificate(name, seed)
    started = monotonic()
    tasks = ((text, seed + turn) for turn in count() for text in chosen)
    jobs = thread_count(jobs)
    spawn = multiprocessing.get_context("spawn")  # a GPU is not to be used on both sides of a fork
    with ProcessPoolExecutor(jobs, mp_context=spawn) as pool:
        waiting: set[Future[tuple[str, Line]]] = set()
        submitted, ended = 0, False
        while waiting or not ended:
            over = seconds is not None and monotonic() - started > seconds
            over = over or (results is not None and certificate.results >= results)
            everything = all(line.missing for line in certificate.lines.values())
            ended = submitted >= len(chosen) and (
                over or (everything and len(certificate.lines) == len(chosen))
            )
            while not ended and len(waiting) < 2 * jobs:
                text, number = next(tasks)
                submitted += 1
                line = certificate.lines.get(text)
                if line is None or not line.missing:
                    waiting.add(pool.submit(compare, text, number, profile, gpu))
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                text, found = future.result()
                certificate.lines.setdefault(text, Line()).add(found)
                yield certificate
