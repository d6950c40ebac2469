"""One instruction on a GPU, for many operands: the kernel in PTX, and its operands in registers.

A multiply of one warp takes its fragments as `golden.fragments.distribute` gives them. `wgmma.mma_async`
takes C in registers and A and B from shared memory, in core matrices of 8 rows of 16 bytes without swizzle
(PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions").
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from string import Template
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.approximation.instructions import FORMS, ApproximateInstruction
from golden.arguments import checked_operands, dtype_of
from golden.fragments import collect, distribute
from golden.lines import pack
from golden.machine import Difference
from golden.multiply import checked_side_operands, mma
from golden.simt.errors import LaunchError
from golden.sparsity import pack_metadata
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import USES
from golden.tables.layouts import LANES, fragment
from golden.tables.matrix_instructions import TILE_COLUMNS, MmaInstruction, tile_places, warp_tile
from golden.tables.profiles import HOPPER
from openwmma.gpu.driver import Gpu, open_gpu, read, write

_BASE: Final = 0x0020_0000_0000
_ALIGNMENT: Final = 1 << 21
_VERSION: Final = "8.4"
_NARROW_VERSION: Final = "8.7"
"""Of PTX, for ``mma`` of fp8 with f16 accumulators or k of 16, and for ordered metadata."""

_THREADS: Final = 128
_WORD: Final = 4
_ROW_BYTES: Final = 32
"""Of A and of B, in every `wgmma`: two core matrices side by side; four of a B that meets a sparse A."""

_SCALES: Final = {"s32": "", "tf32": ", 1, 1", "e4m3": ", 1, 1", "e5m2": ", 1, 1"}
"""Signs and, where there is a choice, orders of A and B in the operands of `wgmma`, by the type of D or A."""


def _filled(template: str, **fields: object) -> str:
    """The text of a file beside this one, without its comments and empty lines."""
    text = Template(Path(__file__).with_name(f"{template}.ptx").read_text()).substitute(fields)
    return "\n".join(line for line in text.splitlines() if line and not line.startswith("//"))


def kernel_text(instruction: MmaInstruction | ApproximateInstruction, capability: tuple[int, int]) -> str:
    """A PTX module whose kernel ``each`` executes an instruction for every tile or element.

    It is assembled for the compute capability of the GPU.
    """
    is_narrow = is_sparse = is_group = False
    if isinstance(instruction, ApproximateInstruction):
        body = _approximate_body(instruction)
    else:
        is_narrow, is_sparse = instruction.a_type in ("e4m3", "e5m2"), instruction.is_sparse
        is_group = instruction.family.is_warpgroup
        body = _group_body(instruction) if is_group else _warp_body(instruction)
    text = _filled(
        "kernel",
        version=_NARROW_VERSION if is_narrow or is_sparse else _VERSION,
        target=f"sm_{capability[0]}{capability[1]}{'a' if is_group else ''}",
        more=".param .u64 e, " * is_sparse,
        threads=_THREADS,
        body=body,
    )
    return f"{text}\n"


def _kind(type: str) -> tuple[str, int]:
    """The type of the registers that hold elements of a type, and their bytes."""
    return {"f32": ("f32", 4), "f64": ("f64", 8)}.get(type, ("b32", _WORD))


def _vector(use: str, count: int) -> str:
    return "{" + ", ".join(f"%{use}{i}" for i in range(count)) + "}"


def _accesses(use: str, address: str, count: int, type: str, *, loads: bool) -> str:
    """Load or store the registers of a fragment; each has 32 lanes side by side."""
    kind, size = _kind(type)
    places = [(f"%{use}{i}", f"[{address}+{i * LANES * size}]") for i in range(count)]
    return "\n".join(
        f"ld.global.{kind} {register}, {place};" if loads else f"st.global.{kind} {place}, {register};"
        for register, place in places
    )


def _registers(use: str, count: int, type: str) -> dict[str, object]:
    """How many registers of which type hold a fragment, and the bytes of a tile and of a lane of it."""
    kind, size = _kind(type)
    named = {"kind": kind, "count": count, "tile": count * LANES * size, "lane": size}
    return {f"{use}_{name}": value for name, value in named.items()}


def _warp_body(instruction: MmaInstruction) -> str:
    types = instruction.types
    counts = {
        use: layout.registers * _WORD // _kind(types[use])[1] for use, layout in instruction.fragments.items()
    }
    fields: dict[str, object] = {}
    for use in USES:
        fields |= _registers(use, counts[use], types[use])
    loads = [_accesses(use, f"%x{i}", counts[use], types[use], loads=True) for i, use in enumerate(USES[:3])]
    operands = ", ".join(_vector(use, counts[use]) for use in ("d", *USES[:3]))
    return _filled(
        "warp",
        **fields,
        loads="\n".join(loads),
        metadata=_filled("metadata") if instruction.is_sparse else "",
        instruction=instruction,
        operands=operands + ", %r6, 0" * instruction.is_sparse,
        stores=_accesses("d", "%x3", counts["d"], types["d"], loads=False),
    )


def _row_bytes(instruction: MmaInstruction) -> dict[str, int]:
    """Bytes of a row of A and of a column of B."""
    return {"a": _ROW_BYTES, "b": _ROW_BYTES << instruction.is_sparse}


def _dense(instruction: MmaInstruction) -> MmaInstruction:
    """The dense `wgmma` whose fragments of C and D an instruction has."""
    return replace(instruction, mnemonic="wgmma", shape=instruction.stored)


def _group_body(instruction: MmaInstruction) -> str:
    """A block of four warps for each tile."""
    tile, rows, shape = warp_tile(_dense(instruction)), _row_bytes(instruction), instruction.shape
    count = fragment("d", tile.d_type, tile.shape).registers * shape.n // TILE_COLUMNS
    fields = _registers("d", count, tile.d_type)
    for use, lines in (("a", shape.m), ("b", shape.n)):
        # Bytes from a core matrix to the next along k, and to the next 8 rows, each by 16.
        fields[f"{use}_descriptor"] = 128 >> 4 << 16 | 8 * rows[use] >> 4 << 32
        fields |= {f"{use}_bytes": lines * rows[use], f"{use}_pieces": lines * rows[use] // 16}
    scales = _SCALES.get("s32" if instruction.d_type == "s32" else instruction.a_type, ", 1, 1, 0, 0")
    operands = [_vector("d", count), "%x4", "%x5", *["%r6", "0"] * instruction.is_sparse, f"%p2{scales}"]
    return _filled(
        "group",
        **fields,
        threads=_THREADS,
        loads=_accesses("d", "%x2", count, tile.d_type, loads=True),
        metadata=_filled("metadata") if instruction.is_sparse else "",
        instruction=instruction,
        operands=", ".join(operands),
        stores=_accesses("d", "%x3", count, tile.d_type, loads=False),
    )


def _approximate_body(form: ApproximateInstruction) -> str:
    kind = {"f32": "f32", "f64": "f64"}.get(form.type, f"b{form.bits}")
    return _filled(
        "element",
        kind=kind,
        size=form.bits // 8,
        loads="\n".join(f"ld.global.{kind} %e{i + 1}, [%x{i}];" for i in range(form.operands)),
        instruction=form.text,
        operands=", ".join(("%e0", "%e1", "%e2")[: form.operands + 1]),
    )


def _run(gpu: Gpu, text: str, inputs: Sequence[NDArray[Any]], result_bytes: int, grid: int, n: int) -> Any:
    """The bytes of D."""
    addresses, ranges, end = [], [], _BASE
    for size in (result_bytes, *(array.nbytes for array in inputs)):
        addresses.append(end)
        ranges.append((end, max(size, 1)))
        end += -(-max(size, 1) // _ALIGNMENT) * _ALIGNMENT
    with ExitStack() as stack:
        module = stack.enter_context(gpu.module(text))
        stack.enter_context(gpu.memory(ranges))
        for address, array in zip(addresses[1:], inputs, strict=True):
            write(address, np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        addresses += [addresses[0]] * (4 - len(addresses))
        parameters = [address.to_bytes(8, "little") for address in addresses]
        parameters.append(n.to_bytes(4, "little"))
        module.launch("each", (grid, 1, 1), (_THREADS, 1, 1), 0, parameters)
        return read(addresses[0], result_bytes)


def multiply_on_gpu(
    gpu: Gpu,
    instruction: MmaInstruction,
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike,
    metadata: ArrayLike | None = None,
) -> NDArray[Any]:
    """D = A B + C of every tile, by the instruction itself; arrays as for `golden.mma`.

    All have the same leading axes. LaunchError where the GPU does not have the instruction.
    """
    operands, leading = checked_operands(instruction, (a, b, c))
    operands += checked_side_operands(instruction, {"metadata": metadata}, leading).values()
    if instruction.saturate and isinstance(FORMATS[instruction.a_type], FloatFormat):
        raise LaunchError(f"{instruction}: satfinite of floating point is no instruction of this GPU")
    text = kernel_text(instruction, gpu.capability)
    multiply = _multiply_group if instruction.family.is_warpgroup else _multiply_warps
    d = multiply(gpu, instruction, text, operands) if len(operands[0]) else operands[2]
    return d.reshape(*leading, *instruction.shape.extent("d")).astype(dtype_of(FORMATS[instruction.d_type]))


def multiply_compared(
    number: int,
    instruction: MmaInstruction,
    operands: Sequence[NDArray[Any]],
    metadata: NDArray[Any] | None = None,
    *,
    profile: str | None = None,
    lockstep: bool = False,
) -> tuple[NDArray[Any], str]:
    """D on a GPU by its number, as `multiply_on_gpu` computes it, and the name of the GPU.

    In lockstep the golden model multiplies too, by a profile that is Hopper's by default: Difference with
    the first result that differs.
    """
    a, b, c = operands
    with open_gpu(number) as gpu:
        d = multiply_on_gpu(gpu, instruction, a, b, c, metadata)
    if lockstep:
        expected = mma(instruction, a, b, c, metadata=metadata, profile=profile or HOPPER.name)
        wrong = np.argwhere(expected != d)
        if len(wrong):
            place = tuple(map(int, wrong[0]))
            raise Difference(
                f"{instruction}: {len(wrong)} of {d.size} results differ, first at {place}: "
                f"golden {expected[place]:#x}, {gpu.name} {d[place]:#x}"
            )
    return d, gpu.name


def warp_words(instruction: MmaInstruction, operands: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """The fragments of A, B and C of each warp; where it takes several tiles, the last one repeats some.

    The metadata registers of a sparse multiply follow. Words are of 32 bits, of f64 of 64.
    """
    together = instruction.family.tiles
    words: list[NDArray[Any]] = []
    for use, matrix in zip(USES[:3], operands, strict=False):
        tiles, rows, columns = matrix.shape
        whole = np.resize(matrix, (-(-tiles // together), together * rows, columns))
        layout = instruction.layout(use)
        kind = instruction.types[use], instruction.shape, layout, instruction.is_sparse
        found = distribute(whole, use, *kind)
        if instruction.types[use] == "f64":
            pairs = found.reshape(len(found), -1, 2, LANES).swapaxes(2, 3)
            words.append(np.ascontiguousarray(pairs).view(np.uint64)[..., 0])
        else:
            words.append(found)
    return words + [pack_metadata(instruction, metadata) for metadata in operands[3:]]


def warp_results(instruction: MmaInstruction, found: NDArray[np.uint8], tiles: int) -> NDArray[Any]:
    """D of so many tiles, from the bytes of its fragments."""
    count, shape = instruction.fragments["d"].registers, instruction.shape
    registers = found.view(np.uint32).reshape(-1, count, LANES)
    if instruction.d_type == "f64":
        pairs = registers.reshape(-1, count // 2, LANES, 2).swapaxes(2, 3)
        registers = np.ascontiguousarray(pairs).reshape(-1, count, LANES)
    matrices = collect(registers, "d", instruction.d_type, shape, sparse=instruction.is_sparse)
    return matrices.reshape(-1, shape.m, shape.n)[:tiles]


def _multiply_warps(
    gpu: Gpu, instruction: MmaInstruction, text: str, operands: Sequence[NDArray[Any]]
) -> NDArray[Any]:
    words = warp_words(instruction, operands)
    warps = len(words[0])
    size = warps * instruction.fragments["d"].registers * LANES * _WORD
    found = _run(gpu, text, words, size, -(-warps * LANES // _THREADS), warps)
    return warp_results(instruction, found, len(operands[0]))


def _multiply_group(
    gpu: Gpu, instruction: MmaInstruction, text: str, operands: Sequence[NDArray[Any]]
) -> NDArray[Any]:
    a, b, c, *metadata = operands
    tile, shape, tiles = warp_tile(_dense(instruction)), instruction.shape, len(a)
    places, size_of = list(tile_places(_dense(instruction))), _row_bytes(instruction)
    lines: list[NDArray[Any]] = [
        pack(np.ascontiguousarray(matrix), type).reshape(tiles, -1, 8, size // 16, 16).swapaxes(2, 3)
        for matrix, type, size in (
            (a, instruction.a_type, size_of["a"]),
            (b.swapaxes(1, 2), instruction.b_type, size_of["b"]),
        )
    ]
    words = np.stack(
        [distribute(c[:, rows, columns], "d", tile.d_type, tile.shape) for rows, columns in places], axis=1
    )
    grouped = words.reshape(tiles, 4, -1, LANES)
    lines += [grouped, *(pack_metadata(instruction, nibbles) for nibbles in metadata)]
    found = _run(gpu, text, lines, grouped.nbytes, tiles, tiles)
    registers = found.view(np.uint32).reshape(words.shape)
    d = np.empty((tiles, shape.m, shape.n), dtype_of(FORMATS[instruction.d_type]))
    for place, (rows, columns) in enumerate(places):
        d[:, rows, columns] = collect(registers[:, place], "d", tile.d_type, tile.shape)
    return d


def approximate_on_gpu(gpu: Gpu, form: str, operands: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The results of an approximate instruction of `FORMS`, as bit patterns.

    The operands are bit patterns in the unsigned integer that is as wide as the register, with one axis.
    LaunchError where the GPU does not have the instruction.
    """
    count = len(operands[0])
    text = kernel_text(FORMS[form], gpu.capability)
    found = _run(gpu, text, operands, operands[0].nbytes, -(-count // _THREADS), count)
    return found.view(operands[0].dtype)  # type: ignore[no-any-return]
