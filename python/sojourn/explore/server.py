"""A local server for the live page: the native core simulates what the page asks for.

It answers only on 127.0.0.1, only below an address with a random token, and only to its own page. The page
and the answers are small, and one run takes milliseconds, so the server of the standard library suffices.
Size, memory and duration of a request are bounded, and so is the number of runs at a time.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore, Thread
from types import TracebackType
from typing import Any, Self

from sojourn import _core
from sojourn.worlds.simulated.memory import refusal, run_limit, trace_limit

HOST = "127.0.0.1"
#: Bytes of the body of a request, at most.
MOST = 1_000_000
#: Time after which a client that sends or reads nothing is disconnected, and a run is cancelled, in s.
SILENT_S, LONGEST_S = 30.0, 60.0
#: Runs at a time.
RUNS = os.cpu_count() or 1
#: Seeds are whole numbers below this.
SEEDS = 2**32
#: Events of an answer about packets, at most.
EVENTS = 20_000
#: Seconds between two parts of a run that is streamed: a picture each.
PAUSE = 0.025


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
        self.runs = BoundedSemaphore(RUNS)
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a browser that closes its connection early."""


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    server_version = "sojourn"
    sys_version = ""
    timeout = SILENT_S
    #: Parts of a run that is streamed and wait to be sent.
    _parts: list[str]
    #: When the last ones were sent; 0: none were.
    _sent: float

    def do_GET(self) -> None:
        """Answer with the page."""
        if self._refused():
            return
        if self.path.split("?")[0] == f"/{self.server.token}/":
            self._answer(HTTPStatus.OK, "text/html; charset=utf-8", self.server.html)
        else:
            self._fail(HTTPStatus.NOT_FOUND, "no such page")

    def do_POST(self) -> None:
        """Simulate the plan in the body, `{"plan": ..., "seed": ..., "stream": ...}`.

        The answer is the view. With `stream`, the parts of the run precede it, one line each. With `from`
        (ns) and `most` the answer is the packets from this time on, about `most` events.
        """
        if self._refused():
            return
        if self.path != f"/{self.server.token}/view":
            self._fail(HTTPStatus.NOT_FOUND, "no such page")
            return
        length = self.headers.get("Content-Length", "")
        # The number of digits is bounded first: Python refuses to convert thousands of them.
        is_number = length.isascii() and length.isdigit() and len(length) <= len(str(MOST))
        if not is_number or int(length) > MOST:
            self._fail(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has at most {MOST} bytes")
            return
        body = self.rfile.read(int(length))
        self._parts, self._sent = [], 0.0
        with self.server.runs:
            answer = self._view(body)
        if self._sent:
            self.wfile.write(answer.encode())
        else:
            self._answer(HTTPStatus.OK, "application/json", answer.encode())

    def _view(self, request: bytes) -> str:
        """Return what a request asks for, as JSON; an error is an answer, as in the page's module."""
        deadline = time.monotonic() + LONGEST_S
        streams = False

        def part(text: str = "") -> None:
            if time.monotonic() > deadline:
                raise _core.Cancelled
            if streams:
                self._send(text)

        try:
            wanted = json.loads(request)
            plan, seed = wanted["plan"], wanted["seed"]
            if type(seed) is not int or not 0 <= seed < SEEDS or not isinstance(plan, dict):
                raise ValueError("a plan is an object, a seed a whole number below 2^32")
            streams = wanted.get("stream") is True
            start, most = wanted.get("from"), wanted.get("most", 0)
            if type(start) not in (int, type(None)) or type(most) is not int or not 0 <= most <= EVENTS:
                raise ValueError(f"`from` is a time in ns, `most` at most {EVENTS}")
            text = json.dumps(plan)
            limit = run_limit(RUNS)
            if (error := refusal(text, limit)) is not None:
                raise error
            if start is not None:
                return _core.packets(text, seed, start, most, part)
            return _core.view(text, seed, part, trace_limit(limit))
        except _core.Cancelled:
            reason = f"the simulation takes longer than {LONGEST_S:g} s"
        except (_core.AlgorithmError, ValueError, MemoryError, RuntimeError) as error:  # RecursionError, too
            reason = str(error)
        except (ArithmeticError, LookupError, TypeError, AttributeError) as error:
            reason = f"the request is not of the form {{plan, seed}}: {type(error).__name__}: {error}"
        return json.dumps({"error": reason})

    def _send(self, part: str) -> None:
        """Send a part of a run, unless the last one was sent just before: then it follows with the next."""
        self._parts.append(part)
        now = time.monotonic()
        if now - self._sent < PAUSE:
            return
        if not self._sent:
            self._head(HTTPStatus.OK, "application/x-ndjson", None)
        self._sent = now
        self.wfile.write("".join(f"{one}\n" for one in self._parts).encode())
        self._parts.clear()

    def _refused(self) -> bool:
        """Refuse a request of another page, or under another name of this host (DNS rebinding)."""
        own = f"{HOST}:{self.server.server_port}"
        hosts, origins = (self.headers.get_all(name, []) for name in ("Host", "Origin"))
        if hosts == [own] and origins in ([], [f"http://{own}"]):
            return False
        self._fail(HTTPStatus.FORBIDDEN, "only the page of this server may ask")
        return True

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Answer a request that is not HTTP; unlike the base class, without repeating its text."""
        self._fail(HTTPStatus(code), HTTPStatus(code).phrase)

    def _fail(self, status: HTTPStatus, why: str) -> None:
        self._answer(status, "text/plain; charset=utf-8", why.encode())

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self._head(status, kind, len(body))
        if self.command != "HEAD":
            self.wfile.write(body)

    def _head(self, status: HTTPStatus, kind: str, length: int | None) -> None:
        """Begin an answer; without a length it ends with the connection."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""
