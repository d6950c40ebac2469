"""openwmma's executable specification: every result of a tensor core, to the bit, in numpy."""
