"""openwmma's hardware: the tensor core in Amaranth, one unit a file."""
