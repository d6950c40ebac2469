"""What a unit that walks over the lines of a fragment must know of them."""

from amaranth.hdl import unsigned
from amaranth.lib import data

from golden.tables.layouts import fragment
from hdl.config import CoreConfig
from hdl.memory.fragment_geometry import SEGMENT_BYTES, FragmentGeometry, legal_fragments

__all__ = ["LineRequest", "begins_within_beats", "line_request"]


class LineRequest(data.Struct):
    """The lines of one fragment, and how they lie in the beats of the bus.

    Members
    -------
    geometry : FragmentGeometry
    offset : unsigned(2)
        32-bit words by which the first line begins behind its first beat.
    stride : unsigned(2)
        What is added to the offset from line to line.
    contiguous : unsigned(1)
        Each line begins where the one before ends, and they share beats.
    """

    geometry: FragmentGeometry
    offset: unsigned(2)
    stride: unsigned(2)
    contiguous: unsigned(1)


def line_request(access: data.View) -> dict[str, object]:
    """The fields of a `LineRequest` for a checked access of `hdl.memory.beats.access_layout`."""
    return {
        "geometry": access.geometry,
        "offset": access.address[2:4],
        "stride": access.stride[2:4],
        "contiguous": access.contiguous,
    }


def begins_within_beats(config: CoreConfig) -> bool:
    """Whether any line may begin elsewhere than at a beat: some fragment is less than a beat in a lane."""
    sizes = [fragment(use, name, shape).size for use, name, shape, _ in legal_fragments(config)]
    return min(sizes) < SEGMENT_BYTES
