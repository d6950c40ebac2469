"""One instruction on a GPU, for many operands: the kernel in PTX, and its operands in registers.

A multiply of one warp takes its fragments as `golden.fragments.distribute` gives them. `wgmma.mma_async`
takes C in registers and A and B from shared memory, in core matrices of 8 rows of 16 bytes without swizzle
(PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions").
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.approximation.instructions import FORMS, ApproximateInstruction
from golden.arguments import checked_array, dtype_of
from golden.fragments import collect, distribute
from golden.invalid_argument import InvalidArgument
from golden.lines import pack
from golden.machine import Difference
from golden.multiply import mma
from golden.simt.errors import LaunchError
from golden.sparsity import checked_metadata, pack_metadata
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

_METADATA: Final = (
    f"ld.param.u64 %x6, [e]; mul.wide.u32 %x7, %r3, {_WORD}; add.u64 %x6, %x6, %x7;",
    "ld.global.b32 %r6, [%x6];",
)
"""The metadata register of each thread, %r6."""


def kernel_text(instruction: MmaInstruction | ApproximateInstruction, capability: tuple[int, int]) -> str:
    """A PTX module whose kernel ``each`` executes an instruction for every tile or element.

    Parameters
    ----------
    instruction : MmaInstruction or ApproximateInstruction
    capability : (int, int)
        Of the GPU: what is assembled for.
    """
    is_group = isinstance(instruction, MmaInstruction) and instruction.family.is_warpgroup
    is_sparse = isinstance(instruction, MmaInstruction) and instruction.is_sparse
    narrow = isinstance(instruction, MmaInstruction) and instruction.a_type in ("e4m3", "e5m2")
    target = f"sm_{capability[0]}{capability[1]}{'a' if is_group else ''}"
    if isinstance(instruction, ApproximateInstruction):
        body = _approximate_body(instruction)
    else:
        body = _group_body(instruction) if is_group else _warp_body(instruction)
    return "\n".join(
        [
            f".version {_NARROW_VERSION if narrow or is_sparse else _VERSION}",
            f".target {target}",
            ".address_size 64",
            ".visible .entry each(.param .u64 d, .param .u64 a, .param .u64 b, .param .u64 c, "
            f"{'.param .u64 e, ' if is_sparse else ''}.param .u32 n)",
            f".maxntid {_THREADS}, 1, 1",
            "{",
            ".reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %x<8>;",
            *(f"ld.param.u64 %x{i}, [{name}];" for i, name in enumerate(USES)),
            "ld.param.u32 %r0, [n];",
            "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;",
            f"mad.lo.u32 %r3, %r1, {_THREADS}, %r2;",
            *body,
            "END: ret;",
            "}",
            "",
        ]
    )


def _kind(type: str) -> tuple[str, int]:
    """The type of the registers that hold elements of a type, and their bytes."""
    return {"f32": ("f32", 4), "f64": ("f64", 8)}.get(type, ("b32", _WORD))


def _vector(use: str, count: int) -> str:
    return "{" + ", ".join(f"%{use}{i}" for i in range(count)) + "}"


def _fragment_accesses(use: str, address: str, count: int, type: str, *, loads: bool) -> list[str]:
    """Load or store the registers of a fragment; each has 32 lanes side by side."""
    kind, size = _kind(type)
    places = [(f"%{use}{i}", f"[{address}+{i * LANES * size}]") for i in range(count)]
    return [
        f"ld.global.{kind} {register}, {place};" if loads else f"st.global.{kind} {place}, {register};"
        for register, place in places
    ]


def _warp_body(instruction: MmaInstruction) -> list[str]:
    types = instruction.types
    counts = {
        use: layout.registers * _WORD // _kind(types[use])[1] for use, layout in instruction.fragments.items()
    }
    lines = [
        "shr.u32 %r4, %r3, 5; and.b32 %r5, %r3, 31;",
        "setp.ge.u32 %p0, %r4, %r0; @%p0 bra END;",
    ]
    for i, use in enumerate(USES):
        kind, size = _kind(types[use])
        lines += [
            f".reg .{kind} %{use}<{counts[use]}>;",
            f"mul.wide.u32 %x7, %r4, {counts[use] * LANES * size}; add.u64 %x{i}, %x{i}, %x7;",
            f"mul.wide.u32 %x7, %r5, {size}; add.u64 %x{i}, %x{i}, %x7;",
        ]
    for i, use in enumerate(USES[:3]):
        lines += _fragment_accesses(use, f"%x{i}", counts[use], types[use], loads=True)
    operands = ", ".join(_vector(use, counts[use]) for use in ("d", *USES[:3]))
    if instruction.is_sparse:
        lines += _METADATA
        operands += ", %r6, 0"
    stores = _fragment_accesses("d", "%x3", counts["d"], types["d"], loads=False)
    return [*lines, f"{instruction} {operands};", *stores]


def _row_bytes(instruction: MmaInstruction) -> dict[str, int]:
    """Bytes of a row of A and of a column of B."""
    return {"a": _ROW_BYTES, "b": _ROW_BYTES << instruction.is_sparse}


def _dense(instruction: MmaInstruction) -> MmaInstruction:
    """The dense `wgmma` whose fragments of C and D an instruction has."""
    return replace(instruction, mnemonic="wgmma", shape=instruction.stored)


def _group_body(instruction: MmaInstruction) -> list[str]:
    """A block of four warps for each tile."""
    tile, rows = warp_tile(_dense(instruction)), _row_bytes(instruction)
    columns = instruction.shape.n // TILE_COLUMNS
    count = fragment("d", tile.d_type, tile.shape).registers * columns
    sizes = {"a": instruction.shape.m * rows["a"], "b": instruction.shape.n * rows["b"]}
    lines = [
        f".reg .{_kind(tile.d_type)[0]} %d<{count}>;",
        f".shared .align 128 .b8 sa[{sizes['a']}]; .shared .align 128 .b8 sb[{sizes['b']}];",
        "setp.ge.u32 %p0, %r1, %r0; @%p0 bra END;",
        ".reg .b32 %v<4>;",
    ]
    for i, use in enumerate("ab"):
        # Bytes from a core matrix to the next along k, and to the next 8 rows, each by 16.
        descriptor = 128 >> 4 << 16 | 8 * rows[use] >> 4 << 32
        lines += [
            f"mul.wide.u32 %x7, %r1, {sizes[use]}; add.u64 %x{i}, %x{i}, %x7;",
            f"mov.u32 %r6, s{use}; mov.u32 %r7, %r2;",
            f"COPY_{use}: setp.ge.u32 %p1, %r7, {sizes[use] // 16}; @%p1 bra DONE_{use};",
            f"mul.wide.u32 %x7, %r7, 16; add.u64 %x7, %x{i}, %x7; mad.lo.u32 %r8, %r7, 16, %r6;",
            "ld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%x7]; st.shared.v4.b32 [%r8], {%v0, %v1, %v2, %v3};",
            f"add.u32 %r7, %r7, {_THREADS}; bra COPY_{use};",
            f"DONE_{use}:",
            f"and.b32 %r6, %r6, 0x3ffff; shr.u32 %r6, %r6, 4; cvt.u64.u32 %x{4 + i}, %r6;",
            f"or.b64 %x{4 + i}, %x{4 + i}, {descriptor};",
        ]
    # Words of C and D: tiles, warps, words, lanes.
    lines += [
        f"shr.u32 %r4, %r3, 5; and.b32 %r5, %r3, 31; mul.wide.u32 %x7, %r4, {count * LANES * _WORD};",
        f"add.u64 %x2, %x2, %x7; add.u64 %x3, %x3, %x7; mul.wide.u32 %x7, %r5, {_WORD};",
        "add.u64 %x2, %x2, %x7; add.u64 %x3, %x3, %x7;",
        *_fragment_accesses("d", "%x2", count, tile.d_type, loads=True),
        "fence.proxy.async; bar.sync 0; wgmma.fence.sync.aligned; setp.eq.u32 %p2, 0, 0;",
    ]
    scales = {"s32": "", "tf32": ", 1, 1"}.get(
        "s32" if instruction.d_type == "s32" else instruction.a_type,
        ", 1, 1" if instruction.a_type in ("e4m3", "e5m2") else ", 1, 1, 0, 0",
    )
    return [
        *lines,
        *(_METADATA if instruction.is_sparse else ()),
        f"{instruction} {_vector('d', count)}, %x4, %x5, {'%r6, 0, ' * instruction.is_sparse}%p2{scales};",
        "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
        *_fragment_accesses("d", "%x3", count, tile.d_type, loads=False),
    ]


def _approximate_body(form: ApproximateInstruction) -> list[str]:
    size = form.bits // 8
    names = ["%e0", "%e1", "%e2"][: form.operands + 1]
    kind = {"f32": "f32", "f64": "f64"}.get(form.type, f"b{form.bits}")
    return [
        f".reg .{kind} %e<3>;",
        "setp.ge.u32 %p0, %r3, %r0; @%p0 bra END;",
        f"mul.wide.u32 %x7, %r3, {size};",
        *(f"add.u64 %x{i}, %x{i}, %x7;" for i in range(4)),
        *(f"ld.global.{kind} %e{i + 1}, [%x{i}];" for i in range(form.operands)),
        f"{form.text} {', '.join(names)};",
        f"st.global.{kind} [%x3], %e0;",
    ]


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
    """D = A B + C of every tile, by the instruction itself.

    Parameters
    ----------
    gpu : Gpu
    instruction : MmaInstruction
    a, b, c, metadata : array_like
        As for `golden.mma`; all have the same leading axes.

    Returns
    -------
    ndarray, shape (..., m, n)
        As `golden.mma` returns it.

    Raises
    ------
    LaunchError
        Where the GPU does not have the instruction.
    """
    operands = [
        checked_array(use, matrix, instruction.types[use], instruction.extent(use))
        for use, matrix in zip(USES[:3], (a, b, c), strict=True)
    ]
    if instruction.is_sparse:
        if metadata is None:
            raise InvalidArgument("metadata", "None", f"an array of uint8 for {instruction}")
        extent = instruction.shape.m, instruction.sparsity.groups
        operands.append(checked_metadata(instruction.sparsity, metadata, extent))
    if instruction.saturate and isinstance(FORMATS[instruction.a_type], FloatFormat):
        raise LaunchError(f"{instruction}: satfinite of floating point is no instruction of this GPU")
    leading = operands[0].shape[:-2]
    for use, matrix in zip(("b", "c", "metadata"), operands[1:], strict=False):
        if matrix.shape[:-2] != leading:
            raise InvalidArgument(use, f"leading axes {matrix.shape[:-2]}", f"{leading}, as a has")
    operands = [matrix.reshape(-1, *matrix.shape[-2:]) for matrix in operands]
    text = kernel_text(instruction, gpu.capability)
    multiply = _multiply_group if instruction.family.is_warpgroup else _multiply_warps
    d = multiply(gpu, instruction, text, operands) if len(operands[0]) else operands[2]
    return d.reshape(*leading, *instruction.shape.extent("d")).astype(dtype_of(FORMATS[instruction.d_type]))


def multiply_compared(
    number: int,
    instruction: MmaInstruction,
    operands: Sequence[NDArray[Any]],
    profile: str | None = None,
    *,
    lockstep: bool = False,
) -> tuple[NDArray[Any], str]:
    """D on a GPU, and the name of the GPU.

    Parameters
    ----------
    number : int
        Of the GPU.
    instruction : MmaInstruction
    operands : sequence of three array_like
    profile : str or None
        Of the golden model; None for Hopper.
    lockstep : bool
        Whether the golden model multiplies too.

    Raises
    ------
    LaunchError
    golden.machine.Difference
        In lockstep, with the first result that differs.
    """
    with open_gpu(number) as gpu:
        d = multiply_on_gpu(gpu, instruction, *operands)
    if lockstep:
        expected = mma(instruction, *operands, profile=profile or HOPPER.name)
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
    """The results of an approximate instruction, as bit patterns.

    Parameters
    ----------
    gpu : Gpu
    form : str
        A key of `golden.approximation.instructions.FORMS`.
    operands : sequence of ndarray
        Bit patterns, of the unsigned integer that is as wide as the register, with one axis.

    Raises
    ------
    LaunchError
        Where the GPU does not have the instruction.
    """
    count = len(operands[0])
    text = kernel_text(FORMS[form], gpu.capability)
    found = _run(gpu, text, operands, operands[0].nbytes, -(-count // _THREADS), count)
    return found.view(operands[0].dtype)  # type: ignore[no-any-return]
