"""What surrounds a core on a board: clock, memory, serial line, bridge."""
