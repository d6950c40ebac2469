"""Tables of the specification, free of numpy: formats, profiles, instructions, layouts, commands, faults."""
