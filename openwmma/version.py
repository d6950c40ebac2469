"""The version, from the metadata of the installed package."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("openwmma")
except PackageNotFoundError:  # a copy of the sources on Python's path
    __version__ = "unknown"
