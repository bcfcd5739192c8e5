"""The target of requests to the live page: bytes of a client, and the answers that are allowed.

The handler reads from a connection in memory, which counts what is read and then ends, stops sending (as a
time-out of a socket), or never ends. `TOKEN` and `OWN` in an input stand for token and address of the server.
"""

from __future__ import annotations

import copy
import functools
import io
import itertools
import json
import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from fuzz import mutate
from fuzz.targets import Found, Target, corpus
from sojourn.explore import server

TOKEN, OWN = b"TOKEN", b"OWN"
PAGE = "<!doctype html><p>page</p>"
#: The duration of most plans here, ns.
DURATION = 50_000_000
#: Bytes that one request may take: `http.client` reads at most 100 headers of 65536 bytes each.
MOST_READ = 101 * 65_537 + server.MOST + io.DEFAULT_BUFFER_SIZE
STATUSES = {200, 400, 403, 404, 413, 414, 431, 501, 505}


class Request(NamedTuple):
    """The bytes that a client sends, and what follows them: ``end``, ``silence``, ``zeros`` or ``lines``."""

    sent: bytes
    after: str


# Inputs. The first of each list is that of the page, and more frequent.

METHODS = [b"POST", b"GET", b"HEAD", b"PUT", b"OPTIONS", b"post", b"", b"P\0ST", b"X" * 70_000]
TARGETS = [b"/TOKEN/view", b"/TOKEN/", b"/TOKEN/?x=1", b"/", b"/TOKEN", b"/TOKEN/view/", b"/TOKEN/../", b"*"]
TARGETS += [b"//TOKEN/view", b"http://OWN/TOKEN/view", b"/" + b"A" * 16 + b"/view", b"/TOKEN/view\0", b"\xff"]
TARGETS += [b"/<script>alert(1)</script>", b"/TOKEN/view?" + b"q" * 70_000]
VERSIONS = [b" HTTP/1.1", b" HTTP/1.0", b" HTTP/0.9", b" HTTP/2.0", b" HTTP/1.1.1", b" HTTP/" + b"9" * 5000]
VERSIONS += [b"", b" HTTP/1.1 x", b" ICAP/1.0", b" HTTP/-1.1", b" <script>"]
HOSTS = [[b"Host: OWN"], [], [b"Host: evil.example"], [b"Host: OWN", b"Host: evil.example"], [b"host:OWN"]]
HOSTS += [[b"Host: OWN.evil.example"], [b"Host: OWN", b" evil"], [b"Host: localhost"], [b"Host: \xff"]]
ORIGINS = [[], [b"Origin: http://OWN"], [b"Origin: null"], [b"Origin: http://evil.example"], [b"Origin:"]]
ORIGINS += [[b"Origin: http://OWN", b"Origin: http://evil.example"], [b"Origin: http://OWN.evil.example"]]
MORE = [[], [b"Transfer-Encoding: chunked"], [b"Expect: 100-continue"], [b"Connection: keep-alive"], [b": x"]]
MORE += [[b"no colon"], [b" folded"], [b"X: y"] * 200, [b"X: " + b"y" * 70_000], [b"X\0: \x1b[2J"]]
LENGTHS = [b"0", b"-1", b"+5", b" 5", b"5 5", b"0x5", b"1e3", b"5.0", b"", "\u0665".encode(), b"1000001"]
LENGTHS += [b"9" * 19, b"9" * 5000, b"0" * 5000, b"\xb2"]


@functools.cache
def _plans() -> list[Any]:
    return [json.loads(text) for text in corpus("plans")]


def _choice(rng: random.Random, among: list[Any], usual: float = 0.8) -> Any:
    return among[0] if rng.random() < usual else rng.choice(among)


def _plan(rng: random.Random) -> Any:
    plans = _plans()
    plan = mutate.tree(rng, plans) if rng.random() < 0.8 else copy.deepcopy(rng.choice(plans))
    if rng.random() < 0.95 and isinstance(plan, dict):
        plan["duration"], plan["drain"], plan["phases"] = DURATION, 0, []
        plan["warmup"] = rng.choice([0, DURATION // 2])
    return plan


def _body(rng: random.Random) -> bytes:
    match rng.randrange(12):
        case 0:
            return mutate.data(rng, [b'{"plan": {"duration": 5}, "seed": 1}', *corpus("plans")])
        case 1:
            return rng.choice(
                [b"", b"null", b"[]", b"{}", b'{"seed": 1}', b'{"plan": {}, "seed": 1}', b"\xff"]
            )
        case 2:
            return rng.choice(
                [b"[" * 200_000, b'{"plan":' * 5000, b"9" * 5000, b"-" * 100, b'"\\ud800"', b"NaN"]
            )
        case 3:
            return json.dumps(
                {"plan": mutate.tree(rng, [{"a": {"b": [1, 2.0, "x", None]}}]), "seed": 1}
            ).encode()
    seed = _choice(rng, [1, 0, 2**32 - 1, 2**32, -1, True, 1.0, None, "1", 10**400])
    text = json.dumps({"plan": _plan(rng), "seed": seed})
    return text.encode(_choice(rng, ["utf-8", "utf-16", "utf-32", "utf-8-sig"], 0.95))


def make(rng: random.Random) -> Request:
    """Return a request that is mostly that of the page."""
    body = _body(rng)
    length = [] if rng.random() < 0.05 else [_choice(rng, [b"%d" % len(body), *LENGTHS])]
    if length and rng.random() < 0.05:
        length.append(rng.choice(LENGTHS))
    headers = [*_choice(rng, HOSTS), *_choice(rng, ORIGINS), *_choice(rng, MORE)]
    headers += [b"Content-Length: " + one for one in length]
    rng.shuffle(headers)
    first = _choice(rng, METHODS) + b" " + _choice(rng, TARGETS, 0.7) + _choice(rng, VERSIONS)
    end = _choice(rng, [b"\r\n", b"\n", b"\r", b"\0"], 0.95)
    sent = end.join([first, *headers, b"", body])
    if rng.random() < 0.1:
        sent = mutate.data(rng, [sent])
    if rng.random() < 0.1:
        sent = sent[: rng.randrange(len(sent) + 1)]
    return Request(sent, _choice(rng, ["end", "silence", "zeros", "lines"], 0.6))


# The connection and the server.


class _Sent(io.RawIOBase):
    """What a client sends; counts what is read."""

    def __init__(self, content: bytes, after: str) -> None:
        self._content, self._after = content, after
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = len(buffer)
        if self.count < len(self._content):
            found = self._content[self.count : self.count + size]
        elif self._after == "silence":
            raise TimeoutError
        else:
            lines = b"X: y\r\n" * (size // 6 + 1)
            found = {"end": b"", "zeros": bytes(size), "lines": lines[:size]}[self._after]
        buffer[: len(found)] = found
        self.count += len(found)
        if self.count > MOST_READ:
            raise Found(f"more than {MOST_READ} bytes were read")
        return len(found)


class _Connection:
    """The part of a socket that the handler uses."""

    def __init__(self, request: Request) -> None:
        self.sent = _Sent(request.sent, request.after)
        self.answer = bytearray()
        self.timeout: float | None = None

    def settimeout(self, seconds: float | None) -> None:
        self.timeout = seconds

    def makefile(self, _mode: str, _size: int = -1) -> Any:
        return io.BufferedReader(self.sent)

    def sendall(self, content: bytes) -> None:
        self.answer += content


def reader(served: server.Server) -> Callable[[Request], None]:
    """Return the function that sends a request to a server and checks the answer."""
    http = served._http
    own = f"{server.HOST}:{http.server_port}".encode()
    token = http.token.encode()

    def read(request: Request) -> None:
        sent = request.sent.replace(TOKEN, token).replace(OWN, own)
        connection = _Connection(Request(sent, request.after))
        http.finish_request(connection, (server.HOST, 1))  # type: ignore[arg-type]
        if not connection.timeout or connection.timeout > 600:
            raise Found("the client may be silent forever")
        _is_allowed(bytes(connection.answer), sent, token, own)

    return read


def _is_allowed(answer: bytes, sent: bytes, token: bytes, own: bytes) -> None:
    """Require one complete answer, and the page or a view only if token, host and origin are right."""
    # HTTP/0.9 has no head; a request without a first line, or a silent client, gets no answer.
    head, body = answer.split(b"\r\n\r\n", 1) if answer.startswith(b"HTTP/") else (b"", answer)
    if head:
        status = re.match(rb"HTTP/1\.0 (\d{3}) [A-Za-z -]+\r\n", head)
        if status is None or int(status[1]) not in STATUSES or b"X-Content-Type-Options: nosniff" not in head:
            raise Found(f"the head is {head!r}")
        length = len(body) if not sent.startswith(b"HEAD ") else None
        if length is not None and b"\r\nContent-Length: %d\r\n" % length not in head:
            raise Found(f"{length} bytes follow {head!r}")
    is_page, is_view = body == PAGE.encode(), body.startswith(b"{")
    if is_view:
        view = json.loads(body)
        if not ("summary" in view or (list(view) == ["error"] and view["error"])):
            raise Found(f"the view is {body[:500]!r}")
    if is_page or is_view:
        first, _, rest = sent.partition(b"\n")
        lines = re.split(rb"\r\n|\r|\n", rest)  # as email.feedparser does
        if b"/" + token + b"/" not in first or _values(b"host", lines) != {own}:
            raise Found("an answer to another address")
        if not _values(b"origin", lines) <= {b"http://" + own}:
            raise Found("an answer to another origin")
    elif token in body or b"<" in body:
        raise Found(f"the answer is {body[:500]!r}")


def _values(name: bytes, lines: list[bytes]) -> set[bytes]:
    """Return the values of a header; a line that is none ends the headers, as in `email.feedparser`."""
    headers = itertools.takewhile(re.compile(rb"[!-9;-~]*:|[\t ]|From ").match, lines)
    return {one.partition(b":")[2].strip() for one in headers if one.lower().startswith(name + b":")}


def requests(served: server.Server) -> Target:
    """Return the target of a server."""
    return Target(make, reader(served))
