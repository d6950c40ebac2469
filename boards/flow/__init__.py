"""From a board to its bitstream, with the open tools, and a report of what was built."""
