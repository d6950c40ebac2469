"""Uses of the WMMA API that are refused, each with what the message says."""

import numpy as np

from openwmma import wmma

HALF = np.zeros((32, 32), np.float16)
FLOAT = np.zeros((32, 32), np.float32)


def a(T=wmma.half, shape=(16, 16, 16), layout=wmma.row_major, fill=True):  # noqa: N803
    return made(wmma.fragment(wmma.matrix_a, *shape, T, layout), fill)


def b(T=wmma.half, shape=(16, 16, 16), layout=wmma.col_major, fill=True):  # noqa: N803
    return made(wmma.fragment(wmma.matrix_b, *shape, T, layout), fill)


def c(T=float, shape=(16, 16, 16), fill=True):  # noqa: N803
    return made(wmma.fragment(wmma.accumulator, *shape, T), fill)


def made(fragment, fill):
    if fill:
        wmma.fill_fragment(fragment, 0)
    return fragment


def load_a(view, T=wmma.half, shape=(16, 16, 16), layout=wmma.row_major, **rest):  # noqa: N803
    wmma.load_matrix_sync(a(T, shape, layout), view, **rest)


def store(view, *arguments):
    wmma.store_matrix_sync(view, c(), *arguments)


def in_place(accumulator):
    wmma.mma_sync(accumulator, a(), b(), accumulator)


def read_only():
    array = np.zeros((16, 16), np.float32)
    array.flags.writeable = False
    return array


B1 = wmma.experimental.precision.b1
S4 = wmma.experimental.precision.s4
BITS = (8, 8, 128)
A16 = "fragment<matrix_a, 16, 16, 16, __half, row_major>"

FRAGMENTS = {
    "use": (
        lambda: wmma.fragment("matrix_a", 16, 16, 16, wmma.half, wmma.row_major),
        "Use is 'matrix_a'; Use is matrix_a, matrix_b or accumulator",
    ),
    "no type": (lambda: a("half"), "T is 'half'; the element types are __half, __nv_bfloat16, float"),
    "numpy type": (lambda: a(np.float16), "the element types are"),
    "float multiplicand": (
        lambda: a(float),
        "T is float; multiplicands are of __half, __nv_bfloat16, precision::tf32, double, signed char, "
        "unsigned char, experimental::precision::s4, experimental::precision::u4, "
        "experimental::precision::b1",
    ),
    "bfloat16 accumulator": (
        lambda: c(wmma.bfloat16),
        "T is __nv_bfloat16; accumulators are of __half, float, double, int",
    ),
    "tf32 accumulator": (lambda: c(wmma.precision.tf32), "accumulators are of __half, float, double, int"),
    "shape": (
        lambda: a(shape=(16, 16, 8)),
        "m, n, k are 16, 16, 8; __half has 16, 16, 16; 8, 32, 16; 32, 8, 16",
    ),
    "shape of tf32": (
        lambda: a(wmma.precision.tf32),
        "m, n, k are 16, 16, 16; precision::tf32 has 16, 16, 8",
    ),
    "shape of double": (lambda: c(wmma.double), "m, n, k are 16, 16, 16; double has 8, 8, 4"),
    "shape of int": (
        lambda: c(int, (16, 16, 8)),
        "int has 16, 16, 16; 8, 32, 16; 32, 8, 16; 8, 8, 32; 8, 8, 128",
    ),
    "size": (lambda: a(shape=(16.0, 16, 16)), "m, n, k are 16.0, 16, 16; the sizes are integers"),
    "no layout": (
        lambda: a(layout=None),
        "no Layout; Layout must be specified for matrix_a and matrix_b: row_major or col_major",
    ),
    "memory layout": (
        lambda: a(layout=wmma.mem_row_major),
        "Layout is mem_row_major; Layout is row_major or col_major",
    ),
    "layout as text": (
        lambda: a(layout="row_major"),
        "Layout is 'row_major'; Layout is row_major or col_major",
    ),
    "layout of an accumulator": (
        lambda: wmma.fragment(wmma.accumulator, 16, 16, 16, float, wmma.row_major),
        "fragment<accumulator, 16, 16, 16, float, row_major>: a Layout; an accumulator has none; it is "
        "given to load_matrix_sync and store_matrix_sync",
    ),
    "s4 by columns": (
        lambda: a(S4, (8, 8, 32), wmma.col_major),
        "col_major; matrix_a of experimental::precision::s4 is always row_major",
    ),
    "b1 by rows": (
        lambda: b(B1, BITS, wmma.row_major),
        "row_major; matrix_b of experimental::precision::b1 is always col_major",
    ),
}

MULTIPLIES = {
    "no fragment": (lambda: wmma.mma_sync(c(), HALF, b(), c()), "mma_sync: a is ndarray; a is a fragment"),
    "a and b exchanged": (
        lambda: wmma.mma_sync(c(), b(), a(), c()),
        "mma_sync: a is fragment<matrix_b, 16, 16, 16, __half, col_major>; a is a fragment of matrix_a",
    ),
    "multiplicand as c": (
        lambda: wmma.mma_sync(c(), a(), b(), a()),
        f"mma_sync: c is {A16}; c is a fragment of accumulator",
    ),
    "shape of b": (
        lambda: wmma.mma_sync(c(), a(), b(shape=(8, 32, 16)), c()),
        "the template parameters m, n and k must match between fragments A, B, C and D",
    ),
    "shape of d": (
        lambda: wmma.mma_sync(c(shape=(16, 16, 8)), a(), b(), c()),
        f"d is fragment<accumulator, 16, 16, 8, float>, a is {A16}; the template parameters",
    ),
    "types of a and b": (
        lambda: wmma.mma_sync(c(int), a(wmma.char), b(wmma.unsigned_char), c(int)),
        "A and B have the same element type",
    ),
    "half and bfloat16": (
        lambda: wmma.mma_sync(c(), a(), b(wmma.bfloat16), c()),
        "A and B have the same element type",
    ),
    "integer accumulator": (
        lambda: wmma.mma_sync(c(), a(), b(), c(int)),
        "c is fragment<accumulator, 16, 16, 16, int> with multiplicands of __half; their accumulators "
        "are of __half or float",
    ),
    "half accumulator of bfloat16": (
        lambda: wmma.mma_sync(c(wmma.half), a(wmma.bfloat16), b(wmma.bfloat16), c()),
        "d is fragment<accumulator, 16, 16, 16, __half> with multiplicands of __nv_bfloat16; their "
        "accumulators are of float",
    ),
    "undefined a": (
        lambda: wmma.mma_sync(c(), a(fill=False), b(), c()),
        f"mma_sync: the contents of {A16} are undefined; set it first",
    ),
    "undefined c": (
        lambda: wmma.mma_sync(c(), a(), b(), c(fill=False)),
        "the contents of fragment<accumulator, 16, 16, 16, float> are undefined",
    ),
    "undefined in place": (lambda: in_place(c(fill=False)), "are undefined"),
    "satf of double": (
        lambda: wmma.mma_sync(*(part(wmma.double, (8, 8, 4)) for part in (c, a, b, c)), satf=True),
        "satf with double; there is no satf for double",
    ),
    "satf is a number": (lambda: wmma.mma_sync(c(), a(), b(), c(), 1), "satf is 1; satf is True or False"),
    "single bits": (
        lambda: wmma.mma_sync(c(int, BITS), a(B1, BITS), b(B1, BITS), c(int, BITS)),
        "single bits are multiplied by bmma_sync",
    ),
    "bmma of half": (
        lambda: wmma.bmma_sync(c(), a(), b(), c()),
        "got fragments of __half; it multiplies experimental::precision::b1",
    ),
    "bit operation": (
        lambda: wmma.bmma_sync(c(int, BITS), a(B1, BITS), b(B1, BITS), c(int, BITS), 1),
        "the operation is 1; it is bmmaBitOpXOR or bmmaBitOpAND",
    ),
    "accumulate operation": (
        lambda: wmma.bmma_sync(
            c(int, BITS), a(B1, BITS), b(B1, BITS), c(int, BITS), wmma.experimental.bmmaBitOpAND, 1
        ),
        "the accumulate operation is 1; it is bmmaAccumulateOpPOPC",
    ),
}

MEMORY = {
    "no array": (
        lambda: load_a([[0]]),
        "load_matrix_sync: got list; a pointer is a numpy array or a view of one",
    ),
    "dtype": (
        lambda: load_a(FLOAT),
        "got an array of float32; the elements of this fragment are __half, in numpy float16 or uint16",
    ),
    "dtype of char": (
        lambda: load_a(np.zeros((16, 32), np.uint8), wmma.char),
        "are signed char, in numpy int8",
    ),
    "dtype of bits": (
        lambda: load_a(np.zeros((8, 128), bool), B1, BITS),
        "got an array of bool; the elements of this fragment are experimental::precision::b1, in numpy "
        "uint8 or",
    ),
    "byte order": (lambda: load_a(HALF.astype(">f2")), "got an array of >f2"),
    "one axis": (
        lambda: load_a(HALF.ravel()),
        "got an array with 1 axis; a matrix has two axes; memory with one axis needs ldm=",
    ),
    "three axes": (lambda: load_a(HALF[None]), "got an array with 3 axes; a matrix has two axes"),
    "three axes and ldm": (
        lambda: load_a(HALF[None], ldm=32),
        "got 3 axes; a pointer with ldm= has one axis or two",
    ),
    "small": (lambda: load_a(HALF[:8]), "got a view of 8 x 32; the tile takes 16 x 16 elements of float16"),
    "small and packed": (
        lambda: load_a(np.zeros((8, 8), np.uint8), S4, (8, 8, 32)),
        "got a view of 8 x 8; the tile takes 8 x 16 elements of uint8",
    ),
    "columns": (
        lambda: load_a(HALF.T),
        "got a view whose rows are not contiguous, strides (2, 64); in row_major the elements of a row "
        "lie one after the other; this view has contiguous columns: col_major",
    ),
    "rows": (lambda: load_a(HALF, layout=wmma.col_major), "this view has contiguous rows: row_major"),
    "every second": (
        lambda: load_a(HALF[:, ::2]),
        "got a view whose rows are not contiguous, strides (64, 4); in row_major the elements of a row "
        "lie one after the other",
    ),
    "backwards": (
        lambda: load_a(HALF[::-1]),
        "got strides (-64, 2); ldm, from one row to the next, is an unsigned number of whole elements",
    ),
    "accumulator by rows": (
        lambda: wmma.load_matrix_sync(c(), FLOAT, layout=wmma.mem_col_major),
        "got a view whose columns are not contiguous, strides (128, 4); in mem_col_major the elements of "
        "a column lie one after the other; this view has contiguous rows: mem_row_major",
    ),
    "alignment": (
        lambda: load_a(HALF[:, 8:]),
        "the first element lies 16 bytes behind the beginning of its array; CUDA: mptr must be a 256-bit "
        "aligned pointer, so that must be a multiple of 32",
    ),
    "leading dimension": (
        lambda: load_a(np.zeros((16, 20), np.float16)),
        "ldm is 20; CUDA: ldm must be a multiple of 16 bytes, 8 elements of this type",
    ),
    "leading dimension of float": (
        lambda: wmma.load_matrix_sync(c(), np.zeros((16, 18), np.float32), layout=wmma.mem_row_major),
        "ldm is 18; CUDA: ldm must be a multiple of 16 bytes, 4 elements of this type",
    ),
    "ldm is no integer": (
        lambda: load_a(HALF, ldm=32.0),
        "ldm=32.0; ldm is a number of elements, an unsigned integer",
    ),
    "negative ldm": (lambda: load_a(HALF, ldm=-32), "ldm=-32; ldm is an unsigned integer of 32 bits"),
    "beyond the array": (
        lambda: load_a(HALF[16:], ldm=64),
        "with ldm 64 the tile ends 2976 bytes behind the beginning of its array; it must lie in the 2048 "
        "bytes of the array",
    ),
    "no layout for an accumulator": (
        lambda: wmma.load_matrix_sync(c(), FLOAT),
        "layout is None for fragment<accumulator, 16, 16, 16, float>; for an accumulator layout is "
        "mem_row_major or mem_col_major",
    ),
    "row_major for an accumulator": (
        lambda: wmma.load_matrix_sync(c(), FLOAT, 32, wmma.row_major),
        "layout is row_major for fragment",
    ),
    "layout for a multiplicand": (
        lambda: load_a(HALF, layout=wmma.row_major, ldm=wmma.mem_row_major),
        f"layout is mem_row_major for {A16}; a multiplicand has the layout of its type",
    ),
    "two layouts": (
        lambda: wmma.load_matrix_sync(c(), FLOAT, wmma.mem_row_major, wmma.mem_row_major),
        "ldm is mem_row_major; ldm is a number of elements",
    ),
    "load into an array": (
        lambda: wmma.load_matrix_sync(HALF, HALF),
        "load_matrix_sync: a is ndarray; a is a fragment",
    ),
    "store without a layout": (
        lambda: store(FLOAT),
        "store_matrix_sync: layout is None; layout is mem_row_major or mem_col_major",
    ),
    "store of a multiplicand": (
        lambda: wmma.store_matrix_sync(HALF, a(), wmma.mem_row_major),
        f"store_matrix_sync: got {A16}; only an accumulator can be stored",
    ),
    "store of nothing": (
        lambda: wmma.store_matrix_sync(FLOAT, c(fill=False), wmma.mem_row_major),
        "store_matrix_sync: the contents of fragment<accumulator, 16, 16, 16, float> are undefined",
    ),
    "store of another type": (
        lambda: store(HALF, wmma.mem_row_major),
        "got an array of float16; the elements of this fragment are float, in numpy float32 or uint32",
    ),
    "store into a constant": (
        lambda: store(read_only(), wmma.mem_row_major),
        "got a read-only array; the destination of a store must be writable",
    ),
    "scattered owner": (
        lambda: load_a(scattered()),
        "got memory of an array that is not contiguous, strides (128, 2); the array that owns the memory "
        "must be contiguous; copy it",
    ),
    "memory is full": (
        lambda: load_a(np.zeros((4096, 16384), np.float16)),
        "an array of 134217728 bytes; 67108864 bytes of the machine's memory are left; "
        "wmma.warp(memory_bytes=...) sets its size",
    ),
}

ELEMENTS = {
    "fill of text": (
        lambda: wmma.fill_fragment(c(), "0"),
        "fill_fragment: got '0'; a value of float is a number",
    ),
    "fill of an array": (lambda: wmma.fill_fragment(c(), np.zeros(2)), "a value of float is a number"),
    "fill with a fraction": (
        lambda: wmma.fill_fragment(c(int), 0.5),
        "fill_fragment: got 0.5; a value of int is an integer",
    ),
    "fill beyond char": (
        lambda: wmma.fill_fragment(a(wmma.char), 128),
        "got 128; signed char has values from -128 to 127",
    ),
    "fill beyond s4": (
        lambda: wmma.fill_fragment(a(S4, (8, 8, 32)), -9),
        "got -9; experimental::precision::s4 has values from -8 to 7",
    ),
    "fill of an array's place": (
        lambda: wmma.fill_fragment(HALF, 0),
        "fill_fragment: a is ndarray; a is a fragment",
    ),
    "undefined x": (
        lambda: c(fill=False).x,
        "x: the contents of fragment<accumulator, 16, 16, 16, float> are undefined; set it first: "
        "load_matrix_sync, fill_fragment, mma_sync or fragment.x = ...",
    ),
    "undefined matrix": (lambda: a(fill=False).matrix(), f"matrix: the contents of {A16} are undefined"),
    "x of another shape": (
        lambda: setattr(c(), "x", np.zeros((32, 7), np.float32)),
        "x has shape (32, 8) and elements of float32",
    ),
    "x of another type": (lambda: setattr(c(int), "x", 0.5), "x has shape (32, 8) and elements of int32"),
}


def scattered():
    """A view of which numpy does not know the array behind it."""
    return np.ndarray((16, 16), np.float16, buffer=bytearray(16 * 128), strides=(128, 2))
