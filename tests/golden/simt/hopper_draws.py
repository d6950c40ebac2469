"""The operands of the captures of Hopper's asynchronous instructions, drawn from their seeds.

The captures hold results only: `tests/data/hopper.npz`. A copy is a load of a tensor into shared memory full
of 0xcd, or a store or reduction of shared memory to a tensor; both memories are `tensor_bytes`, the tensor
first.
"""

import numpy as np

IMAGE = 65536
BLOCKS = 24
IMAGES = 8
SIZE = {
    **{"UINT8": 1, "UINT16": 2, "UINT32": 4, "INT32": 4, "UINT64": 8, "INT64": 8, "FLOAT16": 2},
    **{"FLOAT32": 4, "FLOAT64": 8, "BFLOAT16": 2, "FLOAT32_FTZ": 4, "TFLOAT32": 4, "TFLOAT32_FTZ": 4},
}
TYPES = list(SIZE)
BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1, "s8": 1, "u8": 1, "b1": 1}


def draw_values(rng, fmt, count):
    """Bytes of `count` finite values of moderate size."""
    if fmt in ("f16", "bf16"):
        e = rng.integers(-6, 7, count)
        m = rng.integers(0, 1 << (10 if fmt == "f16" else 7), count)
        s = rng.integers(0, 2, count)
        v = (s << 15) | ((e + (15 if fmt == "f16" else 127)) << (10 if fmt == "f16" else 7)) | m
        return v.astype(np.uint16).view(np.uint8)
    if fmt == "tf32":
        e = rng.integers(-8, 9, count)
        m = rng.integers(0, 1 << 23, count)
        s = rng.integers(0, 2, count)
        return ((s << 31) | ((e + 127) << 23) | m).astype(np.uint32).view(np.uint8)
    if fmt in ("e4m3", "e5m2"):
        v = rng.integers(0, 256, count).astype(np.uint8)
        return np.where((v & 0x7F) >= (0x7F if fmt == "e4m3" else 0x7C), v & 0x87, v).astype(np.uint8)
    return rng.integers(0, 256, count).astype(np.uint8)


def draw_images(seed, fmt):
    rng = np.random.default_rng([seed, 1, sorted(BYTES).index(fmt)])
    return draw_values(rng, fmt, IMAGES * IMAGE // BYTES[fmt]).reshape(IMAGES, IMAGE)


def draw_descriptor(rng, rows, major_mn, swizzle=None, spare=2):
    """The descriptor of an operand of `rows` rows that stays within the image, and `spare` offsets more."""
    for _ in range(100000):
        mode = int(rng.integers(0, 4)) if swizzle is None else swizzle
        if rng.random() < 0.5:  # as libraries write them
            lbo, sbo = (
                int(rng.choice([128, 256, 512, 1024, 2048, 4096])),
                int(rng.choice([128, 256, 512, 1024, 2048, 4096])),
            )
            start = int(rng.integers(0, 16)) * 1024 + (
                32 * int(rng.integers(0, 4)) if rng.random() < 0.5 else 0
            )
            base = 0
        else:
            lbo, sbo = 16 * int(rng.integers(0, 512)), 16 * int(rng.integers(0, 512))
            start = 16 * int(rng.integers(0, 2048))
            base = int(rng.integers(0, 8)) if mode and rng.random() < 0.5 else 0
        most = start + (rows // 8 + spare + 4 * bool(major_mn)) * max(lbo, sbo) + 4096
        if most <= IMAGE:
            return (start >> 4) | (lbo >> 4) << 16 | (sbo >> 4) << 32 | base << 49 | mode << 62
    raise RuntimeError


def draw_wgmma(seed, number, entry):
    rng = np.random.default_rng([seed, 2, number])
    n = entry["n"]
    da = np.array([draw_descriptor(rng, 64, entry["ta"]) for _ in range(BLOCKS)], np.uint64)
    db = np.array([draw_descriptor(rng, n, entry["tb"]) for _ in range(BLOCKS)], np.uint64)
    ra = (
        draw_values(rng, entry["a"], BLOCKS * 128 * 16 // BYTES[entry["a"]])
        .view(np.uint32)
        .reshape(BLOCKS, 128, 4)
    )
    if entry["d"] == "f32":
        c = rng.standard_normal((BLOCKS, 128, entry["regs"])).astype(np.float32).view(np.uint32)
    elif entry["d"] == "f16":
        c = rng.standard_normal((BLOCKS, 128, entry["regs"], 2)).astype(np.float16).view(np.uint32)[..., 0]
    else:
        c = rng.integers(-1000, 1000, (BLOCKS, 128, entry["regs"])).astype(np.int32).view(np.uint32)
    image = np.arange(BLOCKS) % IMAGES
    scale = int(number % 5 != 4)
    return da, db, ra, np.ascontiguousarray(c), image, scale


SPARSE_SEED, SPARSE_BLOCKS, SPARSE_IMAGES = 20261130, 8, 6
SPARSE_TYPES = ["bf16", "e4m3", "e5m2", "f16", "s8", "tf32", "u8"]


def draw_any(rng, fmt, count, wild):
    """As `draw_values`, or any bits."""
    return rng.integers(0, 256, count * BYTES[fmt]).astype(np.uint8) if wild else draw_values(rng, fmt, count)


def draw_sparse_images(a, b):
    """Images for multiplicands of two types; the last two are of any bits."""
    rng = np.random.default_rng([SPARSE_SEED, 3, *(SPARSE_TYPES.index(name) for name in (a, b))])
    fmt = "e5m2" if "e5m2" in (a, b) else a
    images = []
    for wild in (False,) * 4 + (True,) * 2:
        v = draw_any(rng, fmt, IMAGE // BYTES[fmt], wild)
        images.append(np.where((v & 0x7F) >= 0x7F, v & 0x87, v) if "e4m3" in (a, b) and not wild else v)
    return np.stack(images)


def draw_sparse(number, entry):
    """Descriptors, registers of A, metadata, C, images and scales of a sparse `wgmma`."""
    rng = np.random.default_rng([SPARSE_SEED, 4, number])
    a, blocks = entry["a"], range(SPARSE_BLOCKS)
    da = [draw_descriptor(rng, 64, entry["ta"], i % 4, 4) for i in blocks]
    db = [draw_descriptor(rng, entry["n"], entry["tb"], (i + i // 4) % 4, 4) for i in blocks]
    image = np.arange(SPARSE_BLOCKS) % SPARSE_IMAGES
    stored = np.stack([draw_any(rng, a, 2048 // BYTES[a], wild) for wild in image >= 4])
    words = stored.view(np.uint32).reshape(-1, 4, 2, 8, 2, 4)  # block, warp, half of rows, g, half of k, t
    ra = words.transpose(0, 1, 3, 5, 4, 2).reshape(-1, 128, 4)
    metadata = draw_metadata(rng, entry)
    shape = SPARSE_BLOCKS, 128, entry["regs"]
    if entry["d"] == "f32":
        c = rng.standard_normal(shape).astype(np.float32).view(np.uint32)
    elif entry["d"] == "f16":
        c = rng.standard_normal((*shape[:2], 2 * shape[2])).astype(np.float16).view(np.uint32)
    else:
        c = rng.integers(-1000, 1000, shape).astype(np.int32).view(np.uint32)
        if entry["sat"]:
            c = c ^ rng.choice(np.array([0, 0x7FFFFFFF, 0x80000000], np.uint32), c.shape)
    return *(np.array(bits, np.uint64) for bits in (da, db)), ra, metadata, c, image, image % 5 != 3


def draw_metadata(rng, entry):
    """A register for each thread; threads that the selector does not name hold any bits."""
    nibbles = [4, 14] if entry["a"] == "tf32" else [4, 8, 12, 9, 13, 14]
    size = BYTES[entry["a"]]
    groups = 8 if size > 1 else 16
    drawn = rng.choice(np.array(nibbles, np.uint8), (SPARSE_BLOCKS, 64, groups)).astype(np.uint32)
    words = rng.integers(0, 1 << 32, (SPARSE_BLOCKS, 4, 32), dtype=np.uint64).astype(np.uint32)
    if size == 1:
        words[...] = 0
    words.reshape(SPARSE_BLOCKS, 4, 8, 2, 2)[..., entry["selector"], :] = 0
    for row in range(64):
        warp, half, g = row // 16, row // 8 % 2, row % 8
        for q in range(groups):
            t, bit = (half + 2 * (q // 8), q % 8) if size == 1 else (q // 4, 4 * half + q % 4)
            words[:, warp, 4 * g + t + 2 * entry["selector"]] |= drawn[:, row, q] << np.uint32(4 * bit)
    return words.reshape(SPARSE_BLOCKS, 128)


def draw_map(rng, real=False):
    """Parameters of cuTensorMapEncodeTiled that the driver should accept (many will; others are reported)."""
    t = TYPES[int(rng.integers(0, len(TYPES)))]
    size = SIZE[t]
    rank = int(rng.integers(1, 6))
    inter = int(rng.choice([0, 0, 0, 0, 0, 1, 2])) if rank >= 3 else 0
    swizzle = int(rng.integers(0, 4))
    if inter == 2:
        swizzle = 1
    if inter == 1:
        swizzle = 0
    big = 1 << int(rng.integers(3, 8 if real else 20))
    dims = [int(rng.integers(1, big)) if not real else int(rng.integers(1, 40)) for _ in range(rank)]
    span = {0: 256 * size, 1: 32, 2: 64, 3: 128}[swizzle] if not inter else {1: 16, 2: 32}[inter]
    box = [max(1, min(256, span // size, int(rng.integers(1, 33)) * (16 // size if size < 16 else 1)))] + [
        int(rng.integers(1, 9 if real else 257)) for _ in range(rank - 1)
    ]
    if box[0] * size % 16:
        box[0] = max(16 // size, box[0] // (16 // size) * (16 // size))
    strides, row = [], -(-dims[0] * size // (32 if inter == 2 else 16)) * (32 if inter == 2 else 16)
    for d in dims[1:]:
        row += (32 if inter == 2 else 16) * int(rng.integers(0, 3))
        strides.append(row)
        row *= d
    es = [1] + [int(rng.choice([1, 1, 1, 2, 3])) for _ in range(rank - 1)]
    if rng.random() < 0.15:
        es[0] = int(rng.choice([2, 4]))
    promo = int(rng.integers(0, 4))
    oob = (
        int(rng.integers(0, 2))
        if t in ("FLOAT16", "FLOAT32", "FLOAT64", "BFLOAT16", "FLOAT32_FTZ", "TFLOAT32", "TFLOAT32_FTZ")
        else 0
    )
    return {
        **{"type": t, "rank": rank, "dims": dims, "strides": strides, "box": box, "element_strides": es},
        **{"interleave": inter, "swizzle": swizzle, "promotion": promo, "oob": oob},
    }


def rows_of_box(m, rounded=1):
    """Rows of the box; `rounded` is 1 where a part of an element stride counts, 0 where it does not."""
    n = 1
    for box, step in zip(m["box"][1:], m["element_strides"][1:], strict=True):
        n *= -(-box // step) if rounded else max(1, box // step)
    return n


def volume(m):
    return rows_of_box(m, 0) * max(1, m["box"][0] // m["element_strides"][0]) * SIZE[m["type"]]


def received(m):
    """Bytes that an mbarrier counts."""
    return rows_of_box(m) * m["box"][0] * SIZE[m["type"]]


def spread(m):
    """Bytes of shared memory: each row takes the whole span of a swizzle."""
    return rows_of_box(m) * {0: m["box"][0] * SIZE[m["type"]], 1: 32, 2: 64, 3: 128}[m["swizzle"]]


def extent(m):
    return m["strides"][-1] * m["dims"][-1] if m["rank"] > 1 else m["dims"][0] * SIZE[m["type"]]


def draw_copy(seed, number):
    """A load or a store: map, coordinates, offset in shared memory, generator."""
    rng = np.random.default_rng([seed, 3, number])
    while True:
        m = draw_map(rng, real=True)
        if m["interleave"]:
            continue
        if volume(m) <= 32768 and spread(m) <= 49152 and extent(m) <= 1 << 20 and extent(m) > 0:
            break
    low = -4 if number % 3 else 0
    unit = 16 // SIZE[m["type"]]
    coords = [int(rng.integers(low, d + 4)) if rng.random() < 0.6 else 0 for d in m["dims"]]
    coords[0] = coords[0] // unit * unit
    offset = 1024 * int(rng.integers(0, 8)) + (
        128 * int(rng.integers(0, 8)) if rng.random() < 0.4 and not m["swizzle"] else 0
    )
    return m, coords, offset, rng


def tensor_bytes(rng, m, size):
    """Contents: random bits; of f32 some are denormal, NaN, infinite, or end in bits that tf32 drops."""
    b = rng.integers(0, 256, size).astype(np.uint8)
    if "FLOAT32" in m["type"]:
        v = b[: size // 4 * 4].view(np.uint32)
        k = rng.integers(0, 8, v.size)
        v[k == 0] &= 0x807FFFFF
        v[k == 1] |= 0x7F800000
        v[k == 2] = (v[k == 2] & 0x80000000) | 0x7F800000
        v[k == 3] |= 0x1FFF
        v[k == 4] = (v[k == 4] & ~np.uint32(0x1FFF)) | 0x1000
    return b


REDUCE = [
    *[
        ("add", name)
        for name in ("UINT32", "INT32", "UINT64", "FLOAT16", "BFLOAT16", "FLOAT32", "FLOAT32_FTZ")
    ],
    *[("min", "UINT32"), ("min", "INT32"), ("max", "INT64"), ("min", "FLOAT16"), ("max", "BFLOAT16")],
    *[("inc", "UINT32"), ("dec", "UINT32"), ("and", "UINT32"), ("or", "UINT64"), ("xor", "INT32")],
    *[("add", "TFLOAT32"), ("add", "FLOAT64")],
]


def draw_reduction(seed, number):
    """Operation, map, coordinates, offset in shared memory, generator."""
    op, t = REDUCE[(number - 10000) // 10]
    rng = np.random.default_rng([seed, 4, number])
    size = SIZE[t]
    m = {
        **{"type": t, "rank": 2, "dims": [int(rng.integers(8, 40)), int(rng.integers(2, 12))]},
        **{
            "box": [128 // size // 2, 8],
            "element_strides": [1, 1],
            "interleave": 0,
            "promotion": 0,
            "oob": 0,
        },
        "swizzle": int(rng.integers(0, 4)) if number % 10 else 0,
    }
    if m["swizzle"] == 1:
        m["box"][0] = 32 // size
    m["strides"] = [-(-m["dims"][0] * size // 16) * 16]
    return op, m, [int(rng.integers(0, 3)) * (16 // size), int(rng.integers(0, 4))], 1024, rng
