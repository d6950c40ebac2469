"""The core on a board, over a serial line."""
