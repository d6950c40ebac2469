"""From the core to a board: board tops, the small core, the host side of the serial link, the build flow."""
