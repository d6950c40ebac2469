"""Words of the bus of a SoC, whatever bridge carries them, and what goes wrong on the way."""
