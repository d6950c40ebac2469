"""The bridges of LiteX that reach a SoC: a serial line, a running litex_server."""
