"""Streams: queues, buffers and pipelines."""
