"""`openwmma learn` against requests that no browser sends: each is refused, and the server goes on."""

import socket
import threading

import pytest

from openwmma.commands.learn import ADDRESS, page_server

PAGE = b"<p>here"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    pages = place / "pages"
    (pages / "linked").mkdir(parents=True)
    (pages / "empty").mkdir()
    (pages / "index.html").write_bytes(PAGE)
    (place / "secret").write_text("secret")
    (place / "outside").mkdir()
    (place / "outside" / "secret").write_text("secret")
    (pages / "file").symlink_to(place / "secret")
    (pages / "folder").symlink_to(place / "outside")
    (pages / "linked" / "index.html").symlink_to(place / "secret")
    (pages / "again.html").symlink_to(pages / "index.html")
    return pages


@pytest.fixture(scope="module")
def port(folder):
    with page_server(folder, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def answer(port, request):
    """The whole answer to the bytes of a request."""
    with socket.create_connection((ADDRESS, port), timeout=10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def status(port, path, *, method=b"GET", host=None, more=b""):
    host = b"Host: 127.0.0.1:%d\r\n" % port if host is None else host
    found = answer(port, b"%s %s HTTP/1.1\r\n%s%s\r\n" % (method, path, host, more))
    assert found.startswith(b"HTTP/1.0 "), found[:80]
    assert b"secret" not in found
    return int(found.split()[1])


@pytest.mark.parametrize("path", [b"/", b"/index.html", b"/?x=%00", b"/%69ndex.html", b"/again.html", b"//"])
def test_pages_are_served(port, path):
    assert status(port, path) == 200


@pytest.mark.parametrize(
    "path",
    [
        b"/%00",
        b"/a%00.html",
        b"/%0a",
        b"/%1b[2J",
        b"/%7f",
        b"/%",
        b"/%z1",
        b"/%2",
        b"/%ff",
        b"/%c0%af",
        b"/%ed%b2%80",
        b"/\xff",
        b"/\x01",
        b"/%e2%80%ae",
        b"*",
        b"index.html",
        b"http://127.0.0.1/",
        b"a:80",
    ],
)
def test_what_is_no_path_is_a_bad_request(port, path):
    assert status(port, path) == 400


@pytest.mark.parametrize(
    "path",
    [
        b"/../secret",
        b"/%2e%2e/secret",
        b"/.%2e/secret",
        b"/%2E./secret",
        b"/..%2fsecret",
        b"/%2e%2e%2fsecret",
        b"/..\\secret",
        b"/..%5csecret",
        b"/%252e%252e/secret",
        b"/x/../../secret",
        b"/....//secret",
        b"/" + b"../" * 200 + b"etc/passwd",
        b"//etc/passwd",
        b"/file",
        b"/folder/secret",
        b"/folder/",
        b"/linked/",
        b"/empty/",
        b"/" + b"a" * 5000,
        b"/" + b"a/" * 5000,
        b"/none",
    ],
)
def test_nothing_outside_the_folder_is_served(port, path):
    assert status(port, path) == 404


@pytest.mark.parametrize(
    "method", [b"POST", b"PUT", b"DELETE", b"OPTIONS", b"TRACE", b"CONNECT", b"get", b"\x1b"]
)
def test_other_methods_are_not_allowed(port, method):
    assert status(port, b"/", method=method) == 405


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"])
def test_names_of_this_computer_are_answered(port, name):
    assert status(port, b"/", host=f"Host: {name}:{port}\r\n".encode()) == 200


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        (b"Host: example.com:%d\r\n", 421),
        (b"Host: localhost.example.com:%d\r\n", 421),
        (b"Host: localhost\r\n", 421),
        (b"Host: localhost:1\r\n", 421),
        (b"Host: :%d\r\n", 421),
        (b"Host: \r\n", 421),
        (b"Host: \xff:%d\r\n", 421),
        (b"Host: user@localhost:%d\r\n", 421),
        (b"Host: localhost:%d\r\nHost: localhost:%d\r\n", 400),
        (b"Host: localhost:%d\r\nno header\r\nHost: example.com\r\n", 400),
        (b"Host: localhost:%d\r\n\xff: x\r\n", 400),
        (b"X: y\r\n", 400),
    ],
)
def test_other_names_are_refused(port, host, expected):
    assert status(port, b"/", host=host.replace(b"%d", str(port).encode())) == expected


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (b"\r\n", b""),
        (b"", b""),
        (b"\x16\x03\x01\x02\x00\x01\x00", b"400"),
        (b"GET / HTTP/9.9\r\n\r\n", b"505"),
        (b"GET / HTTP/1\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1 x\r\n\r\n", b"400"),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", b"414"),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000 + b"\r\n\r\n", b"431"),
        (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n", b"431"),
        (b"GET / HTTP/1.1\r\n: \r\n\r\n", b"400"),
    ],
)
def test_what_is_no_request_is_refused(port, request_, expected):
    found = answer(port, request_)
    assert (expected in found[:400]) if expected else not found
    assert PAGE not in found


def test_a_slow_client_keeps_nobody_waiting_and_none_leaves_a_traceback(port, capfd):
    slow = [socket.create_connection((ADDRESS, port), timeout=10) for _ in range(20)]
    for connection in slow:
        connection.sendall(b"GET / HT")
    assert status(port, b"/") == 200
    for connection in slow:  # closing with unread bytes resets the connection
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()
    assert status(port, b"/") == 200
    assert "Traceback" not in capfd.readouterr().err
