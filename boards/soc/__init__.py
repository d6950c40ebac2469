"""The core in a system made by LiteX: memory, processor and host link."""
