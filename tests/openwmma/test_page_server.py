"""`openwmma learn`: files of one folder, on this computer alone, under the pages' policy."""

import threading
import urllib.error
import urllib.request
from http.server import ThreadingHTTPServer

import pytest

from openwmma.cli import main
from openwmma.commands import learn as command
from openwmma.commands.learn import ADDRESS, POLICY, page_server


@pytest.fixture
def folder(tmp_path):
    for name, text in (("index.html", "<p>here"), ("a.mjs", "1"), ("b.wasm", ""), ("c.json", "{}")):
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def address(folder):
    with page_server(folder, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://{ADDRESS}:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("name", "type"),
    [
        ("", "text/html"),
        ("a.mjs", "text/javascript"),
        ("b.wasm", "application/wasm"),
        ("c.json", "application/json"),
    ],
)
def test_a_file_has_its_type_and_the_policy(address, name, type):
    with urllib.request.urlopen(address + name) as response:
        assert response.headers.get_content_type() == type
        assert response.headers["Content-Security-Policy"] == f"{POLICY}; frame-ancestors 'none'"


@pytest.mark.parametrize("name", ["none.html", "../secret", "%2e%2e/secret"])
def test_nothing_else_is_served(address, folder, name):
    (folder.parent / "secret").write_text("secret")
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(address + name)
    assert error.value.code == 404
    error.value.close()


def test_pages_that_were_not_built_are_named(tmp_path, capsys):
    assert main(["learn", "--folder", str(tmp_path)]) == 2
    message = f"openwmma: {tmp_path} has no index.html: build the pages with `make site`"
    assert capsys.readouterr().err.startswith(message)


def test_a_taken_port_is_named(folder, capsys):
    with page_server(folder, 0) as server:
        port = server.server_port
        assert main(["learn", "--folder", str(folder), "--port", str(port), "--no-browser"]) == 2
    assert capsys.readouterr().err.startswith(f"openwmma: --port {port}: Address already in use; expected")


@pytest.mark.parametrize("port", ["-1", "65536", "x"])
def test_a_port_that_is_none_is_refused(folder, capsys, port):
    assert main(["learn", "--folder", str(folder), "--port", port]) == 2
    assert "--port" in capsys.readouterr().err


@pytest.mark.parametrize(("options", "opened"), [([], 1), (["--no-browser"], 0)])
def test_it_opens_the_pages_and_ends_with_an_interrupt(folder, monkeypatch, capsys, options, opened):
    addresses = []

    def interrupted(server):
        raise KeyboardInterrupt

    monkeypatch.setattr(command.webbrowser, "open", addresses.append)
    monkeypatch.setattr(ThreadingHTTPServer, "serve_forever", interrupted)
    assert main(["learn", "--folder", str(folder), "--port", "0", *options]) == 0
    output = capsys.readouterr().out
    assert output.startswith(f"http://{ADDRESS}:")
    assert len(addresses) == opened
    assert all(output.startswith(address) for address in addresses)
