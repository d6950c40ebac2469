"""A web server for the pages, on this computer only."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from openwmma.usage_error import UsageError

__all__ = ["ADDRESS", "POLICY", "page_server", "require_pages"]

ADDRESS = "127.0.0.1"

POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; worker-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'"
)
"""What a page may load: only what its server has. Each page states it; workers obey the server's header."""


class _PageHandler(SimpleHTTPRequestHandler):
    """Files of one folder, with the types and the policy that the pages need."""

    extensions_map = {  # noqa: RUF012  as the class above has it
        **SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
        ".json": "application/json",
        ".mjs": "text/javascript",
        ".svg": "image/svg+xml",
        ".wasm": "application/wasm",
        ".zip": "application/zip",
    }

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", f"{POLICY}; frame-ancestors 'none'")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the requests are those of the reader's own pages."""


def require_pages(folder: Path) -> Path:
    """Check that a folder holds the pages.

    Raises
    ------
    UsageError
        If they were not built.
    """
    if not (folder / "index.html").is_file():
        raise UsageError(
            f"{folder} has no index.html: build the pages with `make site`, or name their folder in --folder"
        )
    return folder


def page_server(folder: Path, port: int) -> ThreadingHTTPServer:
    """Open a server; the caller runs and closes it.

    Parameters
    ----------
    folder : Path
        Of the pages.
    port : int
        0 for any free one; `server_port` of the server tells which.

    Raises
    ------
    UsageError
        If the port is taken or not allowed.
    """
    try:
        return ThreadingHTTPServer((ADDRESS, port), partial(_PageHandler, directory=str(folder)))
    except OSError as error:
        raise UsageError(f"--port {port}: {error.strerror}; expected a free port, or 0 for any") from error
