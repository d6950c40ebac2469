"""What viewers of waveforms show of a core at first: signals by unit, states by name."""
