"""A local server for the live page: the native core simulates what the page asks for.

It answers only on 127.0.0.1, only below an address with a random token, and only to its own page. The page
and the answers are small, and one run takes milliseconds, so the server of the standard library suffices.
"""

from __future__ import annotations

import json
import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Any, Self

from sojourn import _core

HOST = "127.0.0.1"
#: Bytes of a request, at most.
MOST = 1_000_000
#: Seeds are whole numbers below this.
SEEDS = 2**32


class Server:
    """Serves one page; a context manager.

    Parameters
    ----------
    html : str
        The page.
    port : int
        Of 127.0.0.1; 0: any free port.

    Raises
    ------
    OSError
        If the port is in use.
    """

    def __init__(self, html: str, port: int = 0) -> None:
        self._token = secrets.token_urlsafe(16)
        self._http = _Http((HOST, port), html, self._token)
        self._thread = Thread(target=self._http.serve_forever, name="sojourn-explore", daemon=True)

    @property
    def address(self) -> str:
        """The address of the page, with the token."""
        return f"http://{HOST}:{self._http.server_port}/{self._token}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()

    def wait(self) -> None:
        """Serve until the process is interrupted."""
        self._thread.join()


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], html: str, token: str) -> None:
        self.html, self.token = html.encode(), token
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a browser that closes its connection early."""


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    server_version = "sojourn"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer with the page."""
        if self._refused():
            return
        if self.path.split("?")[0] == f"/{self.server.token}/":
            self._answer(HTTPStatus.OK, "text/html; charset=utf-8", self.server.html)
        else:
            self._fail(HTTPStatus.NOT_FOUND, "no such page")

    def do_POST(self) -> None:
        """Simulate the plan in the body, `{"plan": ..., "seed": ...}`; answer with the view."""
        if self._refused():
            return
        if self.path != f"/{self.server.token}/view":
            self._fail(HTTPStatus.NOT_FOUND, "no such page")
            return
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or int(length) > MOST:
            self._fail(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has at most {MOST} bytes")
            return
        try:
            wanted = json.loads(self.rfile.read(int(length)))
            plan, seed = wanted["plan"], wanted["seed"]
            if type(seed) is not int or not 0 <= seed < SEEDS or not isinstance(plan, dict):
                raise ValueError("a plan is an object, a seed a whole number below 2^32")
            view = _core.view(json.dumps(plan), seed)
        except (ValueError, KeyError, TypeError, RecursionError, MemoryError, RuntimeError) as error:
            # As the module in the page: an error is an answer.
            view = json.dumps({"error": str(error)})
        self._answer(HTTPStatus.OK, "application/json", view.encode())

    def _refused(self) -> bool:
        """Refuse a request of another page, or under another name of this host (DNS rebinding)."""
        own = f"{HOST}:{self.server.server_port}"
        origin = self.headers.get("Origin")
        if self.headers.get("Host") == own and origin in (None, f"http://{own}"):
            return False
        self._fail(HTTPStatus.FORBIDDEN, "only the page of this server may ask")
        return True

    def _fail(self, status: HTTPStatus, why: str) -> None:
        self._answer(status, "text/plain; charset=utf-8", why.encode())

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""
