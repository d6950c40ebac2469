"""Tensor maps: the 128 bytes that tell a copy where the elements of a tensor lie, and which box it moves."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from golden.arguments import given_array
from golden.integers import checked_choice, checked_integer, listed, shortened
from golden.invalid_argument import InvalidArgument
from golden.limits import SHARED_BYTES
from golden.simt.buffers import DeviceBuffer

MAP_BYTES: Final = 128
CHUNK: Final = 16
"""Bytes that a copy moves together."""

_RANKS: Final = 5
TYPES: Final = {
    **{"UINT8": 1, "UINT16": 2, "UINT32": 4, "INT32": 4, "UINT64": 8, "INT64": 8, "FLOAT16": 2, "FLOAT32": 4},
    **{"FLOAT32_FTZ": 4, "FLOAT64": 8, "BFLOAT16": 2, "TFLOAT32": 4, "TFLOAT32_FTZ": 4},
}
"""Bytes of an element, in the order of the numbers that a map has; tf32 is f32 with one bit more."""

_DTYPES: Final = {
    **{"int8": "UINT8", "uint8": "UINT8", "bool": "UINT8", "float8_e4m3fn": "UINT8", "float8_e5m2": "UINT8"},
    **{"int16": "UINT16", "uint16": "UINT16", "uint32": "UINT32", "int32": "INT32", "uint64": "UINT64"},
    **{"int64": "INT64", "float16": "FLOAT16", "float32": "FLOAT32", "float64": "FLOAT64"},
    "bfloat16": "BFLOAT16",
}
_TF32_BIT: Final = 80
_TF32: Final = 4
"""From the number of f32 to the number of tf32."""

_NAMES: Final = {
    "type": tuple(TYPES),
    "interleave": ("NONE", "16B", "32B"),
    "swizzle": ("NONE", "32B", "64B", "128B"),
    "fill": ("NONE", "NAN_REQUEST_ZERO_FMA"),
    "promotion": ("NONE", "L2_64B", "L2_128B", "L2_256B"),
}
"""What the numbers of a field stand for, as `cuTensorMapEncodeTiled` names it."""

_PREFIXES: Final = {
    **{"type": "CU_TENSOR_MAP_DATA_TYPE_", "interleave": "CU_TENSOR_MAP_INTERLEAVE_"},
    **{"swizzle": "CU_TENSOR_MAP_SWIZZLE_", "fill": "CU_TENSOR_MAP_FLOAT_OOB_FILL_"},
    "promotion": "CU_TENSOR_MAP_L2_PROMOTION_",
}
"""What may stand before a name, as in the driver's header."""

_PLACES: Final = {
    **{"address": (0, 64), "rank": (68, 3), "type": (71, 4), "interleave": (75, 2), "swizzle": (77, 2)},
    **{"fill": (79, 1), "promotion": (81, 2), "volume": (512, 32), "period": (576, 16)},
}
"""First bit and width of the fields of a map."""

_LISTS: Final = {"strides": (96, 32), "sizes": (256, 32), "element_strides": (416, 3), "box": (440, 8)}
"""Likewise of the first element of those with one for each dimension; elements follow one another."""

_HIGH_STRIDE_BIT: Final = 224
"""Where the upper 4 bits of each stride stand; a stride counts 16 bytes, from dimension 1 on."""

_REPLACED: Final = {
    **{"global_address": "address", "rank": "rank", "elemtype": "type", "interleave_layout": "interleave"},
    **{"swizzle_mode": "swizzle", "fill_mode": "fill", "global_stride": "strides", "global_dim": "sizes"},
    **{"element_stride": "element_strides", "box_dim": "box"},
}
"""The fields by the names of ``tensormap.replace``."""


class Transfer(NamedTuple):
    """The chunks of a box, each of 16 bytes; arrays of one axis."""

    offsets: NDArray[np.int64]
    """Bytes from the address of the tensor."""
    counts: NDArray[np.int64]
    """Bytes that lie within the tensor."""
    places: NDArray[np.int64]
    """Bytes from the beginning of the box in shared memory, before the swizzle."""


@dataclass(frozen=True, kw_only=True)
class TensorMap:
    """What a tensor map says; of lists, dimension 0 is the innermost."""

    address: int
    type: str
    """As `cuTensorMapEncodeTiled` names it, such as ``"FLOAT16"``."""
    sizes: tuple[int, ...]
    """Elements of each dimension."""
    strides: tuple[int, ...]
    """Bytes from one element to the next, from dimension 1 on."""
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    interleave: str = "NONE"
    swizzle: str = "NONE"
    fill: str = "NONE"
    promotion: str = "NONE"
    tensor: Any = field(default=None, compare=False, repr=False)
    """The array or buffer whose address a launch takes; None where `address` is the only one."""

    @classmethod
    def from_bytes(cls, content: bytes) -> "TensorMap":
        """The map in 128 bytes; InvalidArgument for another number of bytes and for what is no tiled map."""
        try:
            given = memoryview(content).tobytes()
        except (TypeError, ValueError, BufferError):
            kind = f"an object of type {content.__class__.__name__}"
            raise InvalidArgument("a tensor map", kind, f"{MAP_BYTES} bytes") from None
        if len(given) != MAP_BYTES:
            raise InvalidArgument("a tensor map", f"{len(given)} bytes", f"{MAP_BYTES} bytes")
        return _decoded(given)

    @property
    def rank(self) -> int:
        """Dimensions."""
        return len(self.sizes)

    @property
    def element_bytes(self) -> int:
        """Bytes of an element."""
        return TYPES[self.type]

    @property
    def span(self) -> int:
        """Bytes of a row within a swizzle; 16 without one."""
        return 16 << _NAMES["swizzle"].index(self.swizzle)

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """Elements that a copy moves in each dimension from 1 on."""
        return tuple(
            -(-box // step) for box, step in zip(self.box[1:], self.element_strides[1:], strict=True)
        )

    @cached_property
    def row_bytes(self) -> int:
        """Bytes of the box along dimension 0."""
        return self.box[0] * self.element_bytes

    @cached_property
    def box_bytes(self) -> int:
        """Bytes that a copy moves: what an mbarrier counts."""
        return self.row_bytes * int(np.prod(self.rows, dtype=np.int64))

    @cached_property
    def shared_bytes(self) -> int:
        """Bytes that the box takes in shared memory, where a row takes the whole span of a swizzle."""
        return self.box_bytes // self.row_bytes * (self.row_bytes if self.span == CHUNK else self.span)

    @cached_property
    def problem(self) -> str:
        """Why no copy takes the map, as the end of a message; empty if one does."""
        box = f"a box of {self.row_bytes} bytes along dimension 0"
        most = f"which has {SHARED_BYTES} bytes"
        last = self.address + sum(
            stride * (size - 1) for stride, size in zip(self.strides, self.sizes[1:], strict=True)
        )
        wrong = (
            (self.interleave != "NONE", f"interleave {self.interleave}, and interleaved maps are not run"),
            (self.address % CHUNK, f"address {self.address:#x}, which is no multiple of {CHUNK}"),
            (self.row_bytes % CHUNK, f"{box}, which is no multiple of {CHUNK}"),
            (CHUNK < self.span < self.row_bytes, f"{box}, more than the {self.span} of its swizzle"),
            (
                self.shared_bytes > SHARED_BYTES,
                f"a box of {self.shared_bytes} bytes in shared memory, {most}",
            ),
            (last >> 63, "strides beyond the last address"),
        )
        return next((text for is_wrong, text in wrong if is_wrong), "")

    def transfer(self, coordinates: Sequence[int]) -> Transfer:
        """The chunks of the box at some coordinates."""
        first = coordinates[0] * self.element_bytes + np.arange(0, self.row_bytes, CHUNK)
        length = self.sizes[0] * self.element_bytes
        counts = np.where(first >= 0, np.clip(length - first, 0, CHUNK), 0)
        offsets, inside = np.zeros(1, np.int64), np.ones(1, np.bool_)
        for i in range(self.rank - 1, 0, -1):
            position = coordinates[i] + np.arange(self.rows[i - 1]) * self.element_strides[i]
            valid = (position >= 0) & (position < self.sizes[i])
            offsets = (offsets[:, None] + position * self.strides[i - 1]).reshape(-1)
            inside = (inside[:, None] & valid).reshape(-1)
        pitch = self.row_bytes if self.span == CHUNK else self.span
        places = np.arange(inside.size)[:, None] * pitch + np.arange(0, self.row_bytes, CHUNK)
        return Transfer(
            (offsets[:, None] + first).reshape(-1),
            np.where(inside[:, None], counts, 0).reshape(-1),
            places.reshape(-1),
        )

    def swizzled(self, addresses: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the bytes at addresses in shared memory lie after the swizzle."""
        return addresses ^ ((addresses >> 3) & (self.span - CHUNK))

    def to_bytes(self) -> bytes:
        """The 128 bytes, as the driver writes them."""
        volume = self.element_bytes
        for box, step in zip(self.box, self.element_strides, strict=True):
            volume *= box // step
        values = {"address": self.address, "rank": self.rank - 1, "volume": volume, "period": self.span * 8}
        values |= {name: names.index(getattr(self, name)) for name, names in _NAMES.items()}
        values["period"] = CHUNK if self.span == CHUNK else values["period"]
        bits = replaced(0, "elemtype", 0, values.pop("type"))
        for name, value in values.items():
            bits = _put(bits, *_PLACES[name], value)
        for replaced_name, name in _REPLACED.items():
            for i, value in enumerate(getattr(self, name) if name in _LISTS else ()):
                bits = replaced(bits, replaced_name, i, value)
        return bits.to_bytes(MAP_BYTES, "little")

    def __str__(self) -> str:
        """One line a field."""
        lines = []
        for name in (item.name for item in fields(self) if item.name != "tensor"):
            value = getattr(self, name)
            text = ", ".join(map(str, value)) if isinstance(value, tuple) else value
            if name == "address":
                text = f"{value:#x}" if value else "0x0, until a launch writes the array's"
            text = text or "none"
            lines.append(f"{name.replace('_', ' ')}: {text}")
        return "\n".join(lines)


@lru_cache(maxsize=256)
def _decoded(content: bytes) -> TensorMap:
    bits = int.from_bytes(content, "little")
    number = {name: bits >> low & ((1 << width) - 1) for name, (low, width) in _PLACES.items()}
    rank, is_tf32 = number["rank"] + 1, bits >> _TF32_BIT & 1
    wrong = (
        (rank > _RANKS, f"rank {rank}", f"ranks 1 to {_RANKS}"),
        (number["interleave"] > 2, "interleave 3", "interleave 0 to 2"),
        (number["type"] not in ((7, 8) if is_tf32 else range(11)), f"type {number['type']}", "types 0 to 10"),
    )
    for is_wrong, given, allowed in wrong:
        if is_wrong:
            raise InvalidArgument("a tensor map", given, allowed)
    number["type"] += _TF32 * is_tf32
    lists = {
        name: tuple(bits >> low + width * i & ((1 << width) - 1) for i in range(rank))
        for name, (low, width) in _LISTS.items()
    }
    high = (bits >> _HIGH_STRIDE_BIT + 4 * i & 15 for i in range(rank - 1))
    strides = tuple(CHUNK * (low | upper << 32) for low, upper in zip(lists["strides"], high, strict=False))
    found: dict[str, Any] = {name: tuple(value + 1 for value in values) for name, values in lists.items()}
    found |= {name: names[number[name]] for name, names in _NAMES.items()}
    return TensorMap(**{**found, "strides": strides, "address": number["address"]})


def replaced(bits: int, name: str, ordinal: int, value: int) -> int:
    """The bits of a map with another value of a field, by its name in ``tensormap.replace``."""
    plain = _REPLACED[name]
    if plain == "type":
        is_tf32 = value >= len(TYPES) - 2
        bits = _put(bits, _TF32_BIT, 1, int(is_tf32))
        value -= _TF32 * is_tf32
    if plain in _PLACES:
        return _put(bits, *_PLACES[plain], value)
    low, width = _LISTS[plain]
    if plain != "strides":
        return _put(bits, low + width * ordinal, width, value - 1)
    bits = _put(bits, low + width * ordinal, width, value // CHUNK)
    return _put(bits, _HIGH_STRIDE_BIT + 4 * ordinal, 4, value // CHUNK >> width)


def _put(bits: int, low: int, width: int, value: int) -> int:
    mask = (1 << width) - 1 << low
    return bits & ~mask | value << low & mask


def tensor_map(
    tensor: Any,
    box: int | Sequence[int],
    *,
    type: str | None = None,
    swizzle: str = "NONE",
    fill: str = "NONE",
    element_strides: int | Sequence[int] | None = None,
    interleave: str = "NONE",
    promotion: str = "NONE",
) -> TensorMap:
    """A tensor map of an array or buffer, as `cuTensorMapEncodeTiled` makes it: an argument of a kernel.

    Parameters
    ----------
    tensor : array or DeviceBuffer
        Up to five axes. An array is copied in and out by each launch, its elements without gaps, whatever
        its strides in the host's memory.
    box : int or sequence of int
        Elements of the box, 1 to 256; like all lists of the driver it begins with the innermost dimension,
        the last axis.
    type : str or None
        Type of the elements, such as ``"BFLOAT16"``; None for the type of the dtype.
    swizzle : {"NONE", "32B", "64B", "128B"}
        Names may begin as in the driver's header: ``"CU_TENSOR_MAP_SWIZZLE_128B"``.
    fill : {"NONE", "NAN_REQUEST_ZERO_FMA"}
        What loads write beyond the tensor: zeros, or NaN.
    element_strides : int, sequence of int or None
        Steps in each dimension, 1 to 8; None for ones.
    interleave : {"NONE"}
        Interleaved maps are refused.
    promotion : {"NONE", "L2_64B", "L2_128B", "L2_256B"}
        Changes no result.

    Raises
    ------
    InvalidArgument
    """
    buffer = (
        tensor
        if isinstance(tensor, DeviceBuffer)
        else given_array("tensor", tensor, "an array in host memory")
    )
    shape = buffer.shape
    if not 1 <= len(shape) <= _RANKS or 0 in shape:
        raise InvalidArgument("the tensor of a map", f"shape {shape}", f"1 to {_RANKS} axes, none of them 0")
    type = _DTYPES.get(buffer.dtype.name, "UINT8") if type is None else type
    given = {"type": type, "interleave": interleave, "swizzle": swizzle, "fill": fill, "promotion": promotion}
    given = {
        name: value.removeprefix(_PREFIXES[name]) if isinstance(value, str) else value
        for name, value in given.items()
    }
    type = given["type"]
    for name, value in given.items():
        checked_choice(f"{name} of a tensor map", value, ("NONE",) if name == "interleave" else _NAMES[name])
    size, width = TYPES[type], buffer.dtype.itemsize
    if size != width:
        raise InvalidArgument("type of a tensor map", f"{type} for {buffer.dtype}", f"types of {width} bytes")
    if fill != "NONE" and "FLOAT" not in type:
        raise InvalidArgument("fill of a tensor map", f"{fill} with {type}", "NONE for integers")
    steps = tuple(size * int(np.prod(shape[i + 1 :], dtype=np.int64)) for i in range(len(shape)))
    if any(step % CHUNK or step >= 1 << 40 for step in steps[:-1]):
        allowed = f"multiples of {CHUNK} below 2**40 along all axes but the last"
        raise InvalidArgument("strides of a tensor", shortened(steps), allowed)
    element_strides = [1] * len(shape) if element_strides is None else element_strides
    found = TensorMap(
        address=buffer.address if isinstance(buffer, DeviceBuffer) else 0,
        sizes=shape[::-1],
        strides=tuple(steps[-2::-1]) if len(shape) > 1 else (),
        box=_extents("box", box, len(shape), 256),
        element_strides=_extents("element_strides", element_strides, len(shape), 8),
        tensor=tensor,
        **given,
    )
    if found.problem:
        allowed = f"rows of the box of multiples of {CHUNK} bytes, within a swizzle and shared memory"
        raise InvalidArgument("a tensor map", found.problem, allowed)
    return found


def _extents(name: str, given: Any, rank: int, most: int) -> tuple[int, ...]:
    values = listed(given)
    if values is None or len(values) != rank:
        raise InvalidArgument(
            f"{name} of a tensor map", shortened(given), f"{rank} integers, as the tensor has axes"
        )
    return tuple(checked_integer(f"{name} of a tensor map", value, 1, most) for value in values)
