"""How to install an extra of this package, by the way in which the package was installed."""

import json
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlparse


def install_command(*extras: str) -> str:
    """The command that installs extras: with pipx, uv or pip; of an editable install, from its folder."""
    wanted = ",".join(extras)
    prefix = Path(sys.prefix)
    if (prefix / "pipx_metadata.json").exists():
        return f'pipx install --force "openwmma[{wanted}]"'
    if (prefix / "uv-receipt.toml").exists():
        return f'uv tool install "openwmma[{wanted}]"'
    try:
        origin = json.loads(distribution("openwmma").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        origin = {}
    if origin.get("dir_info", {}).get("editable"):
        folder = unquote(urlparse(origin["url"]).path)
        return f'pip install -e "{folder}[{wanted}]"'
    return f'pip install "openwmma[{wanted}]"'
