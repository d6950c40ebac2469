"""`openwmma learn`: a web server for the teaching pages, on this computer only."""

import os
import re
import sys
import webbrowser
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final
from urllib.parse import unquote_to_bytes

import typer

from openwmma.terminal import tell
from openwmma.usage_error import UsageError

ADDRESS = "127.0.0.1"

POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; worker-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'"
)
"""What a page may load: only what its server has. Each page states it; workers obey the server's header."""

_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")
"""The names by which a browser of this computer may call the server."""

_PATH: Final = re.compile(r"/(?:[!-$&->@-~]|%[0-9A-Fa-f]{2})*")
"""A path of visible ASCII with whole escapes, without its query."""


class _PageHandler(SimpleHTTPRequestHandler):
    """Files of one folder, with the types and the policy that the pages need."""

    timeout = 30
    """Seconds after which a client that says nothing is left."""

    extensions_map = {  # noqa: RUF012  as the class above has it
        **SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
        ".json": "application/json",
        ".mjs": "text/javascript",
        ".svg": "image/svg+xml",
        ".wasm": "application/wasm",
        ".zip": "application/zip",
    }

    def send_head(self) -> BinaryIO | None:
        """Open the file that is asked for; of a request that is refused, send why and return None."""
        refusal = self._refusal()
        if refusal is not None:
            self.send_error(refusal)
            return None
        found: BinaryIO | None = super().send_head()
        return found

    def list_directory(self, path: str | os.PathLike[str]) -> None:
        """Refuse a folder without a page of its own."""
        self.send_error(HTTPStatus.NOT_FOUND)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send an error; a method that is not supported is one that is not allowed."""
        if code == HTTPStatus.NOT_IMPLEMENTED:
            code, message = HTTPStatus.METHOD_NOT_ALLOWED, None
        super().send_error(code, message, explain)

    def end_headers(self) -> None:
        self.send_header("Allow", "GET, HEAD")
        self.send_header("Content-Security-Policy", f"{POLICY}; frame-ancestors 'none'")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the requests come from the reader's own pages."""

    def _refusal(self) -> HTTPStatus | None:
        """Why the request is not answered; None for one that may name a file of the folder."""
        assert isinstance(self.server, ThreadingHTTPServer)
        hosts = self.headers.get_all("Host", [])
        # What follows a line that is no header would count as text of the request.
        if len(hosts) != 1 or self.headers.defects:
            return HTTPStatus.BAD_REQUEST
        # A page from elsewhere whose name was made to mean this computer still sends its own name.
        name, _, port = hosts[0].strip().lower().rpartition(":")
        if name not in _NAMES or port != str(self.server.server_port):
            return HTTPStatus.MISDIRECTED_REQUEST
        path = self.path.partition("?")[0]
        if not _PATH.fullmatch(path):
            return HTTPStatus.BAD_REQUEST
        try:
            names = unquote_to_bytes(path).decode()
        except UnicodeDecodeError:
            return HTTPStatus.BAD_REQUEST
        if not names.isprintable():
            return HTTPStatus.BAD_REQUEST
        if "\\" in names or ".." in names.split("/"):
            return HTTPStatus.NOT_FOUND
        root = os.path.realpath(self.directory)
        target = self.translate_path(self.path)
        served = (target, *(os.path.join(target, page) for page in ("index.html", "index.htm")))
        inside = all(os.path.commonpath((root, os.path.realpath(path))) == root for path in served)
        return None if inside else HTTPStatus.NOT_FOUND


class _PageServer(ThreadingHTTPServer):
    """A thread for each connection; one that breaks off ends silently."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print what went wrong, unless it is the connection."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def require_pages(folder: Path) -> Path:
    """The folder, if it holds the pages; UsageError if they were not built."""
    if not os.path.isfile(folder / "index.html"):
        raise UsageError(
            f"{folder} has no index.html: build the pages with `make site`, or name their folder in --folder"
        )
    return folder


def page_server(folder: Path, port: int) -> ThreadingHTTPServer:
    """Open a server of the pages in a folder, links out of which are not followed; the caller closes it.

    Port 0 is any free one, which `server_port` of the server tells. UsageError if the port is taken or
    not allowed.
    """
    try:
        return _PageServer((ADDRESS, port), partial(_PageHandler, directory=str(folder)))
    except OSError as error:
        raise UsageError(f"--port {port}: {error.strerror}; expected a free port, or 0 for any") from error


PAGES = Path(__file__).parents[2] / "build" / "site"


def learn(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the server; 0 for any free one.")
    ] = 8000,
    folder: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The built pages; build/site of the repository by default."),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only serve; open no browser.")] = False,
) -> None:
    """Serve the teaching pages on this computer and open them.

    `make site` builds the pages. They need no other server: no request leaves this computer. Of an installed
    package, name the folder with --folder.

        openwmma learn

    Ctrl-C ends it.
    """
    pages = require_pages(PAGES if folder is None else folder)
    with page_server(pages, port) as server:
        address = f"http://{ADDRESS}:{server.server_port}/"
        tell(f"{address} serves {pages}; Ctrl-C ends it")
        if not no_browser:
            webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
