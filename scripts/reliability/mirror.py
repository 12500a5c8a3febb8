"""A data server on this machine: slow, so that a download can be killed, or cut off half way."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

BLOCKS = 40


@contextmanager
def mirror(root: Path, *, share: float = 1.0, seconds: float = 0.08) -> Iterator[str]:
    """The address of a server that sends the first `share` of a file of `root`, in `seconds`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = (root / self.path.lstrip("/")).read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            step = len(content) // BLOCKS + 1
            for first in range(0, int(share * len(content)), step):
                self.wfile.write(content[first : first + step])
                time.sleep(seconds / BLOCKS)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:  # the client was killed: that is what it is for
                return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
