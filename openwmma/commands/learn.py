"""`openwmma learn`: serves the teaching pages on this computer."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from openwmma.page_server import ADDRESS, page_server, require_pages
from openwmma.terminal import tell

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
