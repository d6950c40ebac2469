"""What passes between the on-chip memory and the units that read it in chunks of 16 bytes."""

from amaranth.lib import data

from hdl.config import CoreConfig

CHUNK_BITS = 128
CHUNK_ADDRESS_BITS = 14
"""Of the number of a chunk in at most 256 KiB."""

TAG_BITS = 13


def chunk_request_layout(config: CoreConfig) -> data.StructLayout:
    """Chunks that are asked for at once, one for each lane of a beat.

    Members
    -------
    addresses : array of unsigned(14)
        In units of 16 bytes.
    mask : unsigned(beat_quads)
        Lanes that ask for one.
    tag : unsigned(TAG_BITS)
        Comes back with the chunks.
    last : unsigned(1)
        Likewise, with the last of the chunks.
    """
    lanes = config.beat_quads
    return data.StructLayout(
        {
            "addresses": data.ArrayLayout(CHUNK_ADDRESS_BITS, lanes),
            "mask": lanes,
            "tag": TAG_BITS,
            "last": 1,
        }
    )


def chunk_layout(config: CoreConfig) -> data.StructLayout:
    """Chunks that were read: `mask` says of which lanes."""
    lanes = config.beat_quads
    return data.StructLayout(
        {"valid": 1, "data": CHUNK_BITS * lanes, "mask": lanes, "tag": TAG_BITS, "last": 1}
    )
