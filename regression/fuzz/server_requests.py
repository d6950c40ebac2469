"""Kind ``server``: nonsense for the server of `openwmma learn`, over a socket."""

import re
import socket
import sys
import tempfile
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final
from unittest import mock

from openwmma.commands.learn import ADDRESS, page_server
from regression.fuzz.kind import Files, Kind, PropertyError
from regression.fuzz.ptx import damaged_bytes
from regression.fuzz.values import LONG, WORDS

_SECRET: Final = b"outside of the folder"
_PAGE: Final = b"<!doctype html>the page"


@cache
def _served() -> tuple[int, list[BaseException | None]]:
    """The port of a server that this process keeps, and what its threads raise."""
    folder = Path(tempfile.mkdtemp()) / "pages"
    (folder / "sub").mkdir(parents=True)
    (folder / "index.html").write_bytes(_PAGE)
    (folder.parent / "secret").write_bytes(_SECRET)
    (folder / "link").symlink_to(folder.parent / "secret")
    server = page_server(folder, 0)
    raised: list[BaseException | None] = []
    mock.patch.object(server, "handle_error", side_effect=lambda *_: raised.append(sys.exception())).start()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port, raised


def _make(random: Random) -> Files:
    method, version = random.choice(WORDS["methods"]), random.choice(WORDS["versions"])
    target = random.choice((*WORDS["targets"], "/" + LONG[0], "/" * 500, "/" + "%41" * 3000))
    lines = [f"{method} {target} {version}"]
    if random.random() < 0.7:
        lines.append("Host: localhost:@")
    lines += random.choices((*WORDS["request_headers"], "A" * 70_000), k=random.choice((0, 0, 1, 1, 2, 120)))
    text = "\r\n".join(lines).encode("utf-8", "surrogatepass") + b"\r\n\r\n"
    text += random.randbytes(random.choice((0, 0, 0, 50)))
    return {"request": damaged_bytes(random, text) if random.random() < 0.3 else text}


def _run(files: Files) -> Any:
    port, raised = _served()
    raised.clear()
    request = files["request"].replace(b"localhost:@", b"localhost:%d" % port)
    with socket.create_connection((ADDRESS, port), timeout=5) as link:
        answer = b""
        with suppress(OSError):  # the server has closed the connection
            link.sendall(request)
            link.shutdown(socket.SHUT_WR)
        with suppress(ConnectionError):
            while part := link.recv(1 << 16):
                answer += part
    error = raised[0] if raised else None
    if error is not None and not isinstance(error, ConnectionError):
        raise error
    if _SECRET in answer:
        raise PropertyError("no file outside of the folder is served", repr(answer[:300]))
    headers = re.split(rb"\r?\n\r?\n", request)[0]
    hosts = re.findall(rb"(?im)^host:[ \t]*(.*?)[ \t]*\r?$", headers)
    foreign = [
        host for host in hosts if not re.fullmatch(rb"(localhost|127\.0\.0\.1|\[::1\])(:%d)?" % port, host)
    ]
    if _PAGE in answer and foreign:
        raise PropertyError("only this computer's host names are answered", repr(foreign[0]))
    status = answer.split(b"\r\n")[0][:12]
    if status[9:10] == b"5" and status[9:12] not in (b"501", b"505"):
        raise PropertyError("the server never answers 500", repr(answer[:200]))
    return "answered"  # what of the answer arrives depends on which side closes first


REQUESTS: Final = Kind(make=_make, run=_run, errors=(), pieces=r"\w+|\s+|.")
