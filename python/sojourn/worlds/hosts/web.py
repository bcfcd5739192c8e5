"""Web traffic: nginx on one side, sessions that fetch objects on the other.

Every object uses its own connection (HTTP/1.0). An object is a byte range of one large sparse file. nginx's
files are in memory, in a directory without a path, so no other process can change them. A limit on a
connection's rate is enforced by reading no faster, so that the receive window limits the sender. Only the
client aborts transfers: nginx's time-outs (a minute without progress) are disabled.
"""

from __future__ import annotations

import math
import os
import random
import socket
import subprocess
from pathlib import Path
from typing import Any

from sojourn.record import UNFINISHED
from sojourn.worlds.hosts import random_streams
from sojourn.worlds.hosts.faults import BrokenTestbed, Faults, how_ended
from sojourn.worlds.hosts.loop import READ, WRITE, Loop
from sojourn.worlds.hosts.mounts import enter_unnamed_folder
from sojourn.worlds.hosts.namespace import die_with_parent
from sojourn.worlds.hosts.senders import abort, client

#: Size of the sparse file.
LARGEST = 8 << 30
#: Read size of a rate-limited connection in bytes, and its receive buffer in seconds of its rate.
READ_SIZE, BUFFER_S = 2048, 0.4
#: Minimum time from the start of a failed page to the next page, ns.
RETRY_DELAY = 100_000_000

CONFIGURATION = """
daemon off; master_process off; pid pid; error_log stderr warn; worker_rlimit_nofile {files};
events {{ worker_connections {connections}; multi_accept on; }}
http {{
  access_log off; sendfile on; tcp_nodelay on; keepalive_timeout 0; default_type application/octet-stream;
  client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e;
  server_tokens off;
  send_timeout 1d; client_header_timeout 1d; reset_timedout_connection on;
  server {{ {listen} root root; }}
}}
"""


class Server:
    """An nginx in this namespace; it ends with this process, whose working directory holds its files."""

    def __init__(self, program: str, ports: list[int], files: int) -> None:
        try:
            enter_unnamed_folder()
        except OSError as error:
            raise BrokenTestbed(
                f"nginx needs a private mount for its files ({error.strerror}); in a container: --privileged"
            ) from None
        Path("root").mkdir()
        with Path("root/o").open("wb") as file:
            file.truncate(LARGEST)
        listen = " ".join(f"listen 0.0.0.0:{port} backlog=4096;" for port in ports)
        text = CONFIGURATION.format(listen=listen, files=files, connections=files - 100)
        Path("nginx.conf").write_text(text, encoding="ascii")
        self.process = subprocess.Popen(
            [program, "-p", "./", "-c", "nginx.conf"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            preexec_fn=die_with_parent,
        )

    def ready(self, port: int) -> bool:
        """Return whether it accepts connections."""
        with socket.socket() as one:
            one.settimeout(1)
            return one.connect_ex(("127.0.0.1", port)) == 0

    def watch(self, loop: Loop) -> None:
        """Make the loop raise ``BrokenTestbed`` when nginx ends."""
        loop.watch(os.pidfd_open(self.process.pid), READ, self._ended)

    def _ended(self, _events: int) -> None:
        raise BrokenTestbed(f"nginx ended early ({how_ended(self.process.wait())})")

    def close(self) -> None:
        """Kill it; the kernel then removes its files."""
        self.process.kill()
        self.process.wait()


class Browsers:
    """All sessions of one web traffic at the clients of this namespace."""

    def __init__(self, loop: Loop, job: dict[str, Any], seed: int, faults: Faults) -> None:
        self.loop, self.job, self.seed, self.faults = loop, job, seed, faults
        # [session, start, end, bytes]; [.., start, end, objects, bytes]; [.., client, its port, server]
        self.objects: list[list[int]] = []
        self.pages: list[list[int]] = []
        self.connections: list[list[Any]] = []
        self.got: dict[int, int] = {}
        self.counting = self.stopped = False

    def start(self, session: list[Any]) -> None:
        """Start a session ([number, address of its client]) with its first page."""
        self._page(session[0], session[1], 0)

    def random(self, session: int, *purpose: object) -> random.Random:
        """Return the random stream of a session for one purpose."""
        return random_streams.stream(self.seed, self.job["name"], session, *purpose)

    def _page(self, session: int, host: str, number: int) -> None:
        job = self.job
        if self.stopped or (job["pages"] is not None and number >= job["pages"]):
            return
        rng = self.random(session, "page", number)
        count = max(1, math.ceil(random_streams.draw(job["objects"], rng)))
        server = job["servers"][rng.randrange(len(job["servers"]))]
        now = self.loop.now()
        row = [session, now, UNFINISHED, count, 0]
        self.pages.append(row)
        waiting = [count]

        def next_page() -> None:
            self._page(session, host, number + 1)

        def done(came: int | None) -> None:
            waiting[0] -= 1
            row[4] += came or 0
            if came is None:
                row[2] = -1
            if waiting[0]:
                return
            row[2] = UNFINISHED if row[2] == -1 else self.loop.now()
            if not job["from_start"]:
                gap = random_streams.draw(job["page_gap"], self.random(session, "gap", number))
                soonest = (
                    now + RETRY_DELAY if row[2] == UNFINISHED else 0
                )  # limit the requests to a failed server
                self.loop.at(max(self.loop.now() + round(gap), soonest), next_page)

        when = now
        for k in range(count):
            self.loop.at(when, lambda k=k: self._object(session, host, server, (number, k), done))  # type: ignore[misc]
            when += round(random_streams.draw(job["object_gap"], rng))
        if job["from_start"]:
            gap = random_streams.draw(job["page_gap"], self.random(session, "gap", number))
            self.loop.at(now + round(gap), next_page)

    def _object(self, session: int, host: str, server: str, place: tuple[int, int], done: Any) -> None:
        if self.stopped:
            return
        rng = self.random(session, "object", *place)
        size = min(LARGEST, max(1, round(random_streams.draw(self.job["size"], rng))))
        row = [session, self.loop.now(), UNFINISHED, size]
        self.objects.append(row)

        def ended(whole: bool) -> None:
            if whole:
                row[2] = self.loop.now()
            done(size if whole else None)

        patience = self.job["patience"]
        fetch = Fetch(self, session, (host, server), size, ended)
        if patience is not None:
            self.loop.at(row[1] + round(random_streams.draw(patience, rng)), fetch.give_up)


class Fetch:
    """The transfer of one object over its own connection."""

    def __init__(self, home: Browsers, session: int, ends: tuple[str, str], size: int, ended: Any) -> None:
        job = home.job
        self.home, self.session, self.size, self.ended = home, session, size, ended
        self.head: bytes | None = b""
        self.left = size
        self.rate = job["read_rate"]  # bytes per second, or None
        self.read = 0
        self.began = home.loop.now()
        self.closed = False
        self.socket = client({"from": [ends[0], 0], "mss": job["mss"]})
        if self.rate is not None:
            space = round(self.rate * BUFFER_S)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, space)
        self.socket.connect_ex((ends[1], job["port"]))
        home.connections.append([session, ends[0], self.socket.getsockname()[1], ends[1]])
        home.loop.watch(self.socket.fileno(), WRITE, self._ask)

    def give_up(self) -> None:
        """Abort the transfer unless it is complete."""
        if not self.closed:
            self._end(whole=False)

    def _ask(self, _events: int) -> None:
        request = f"GET /o HTTP/1.0\r\nRange: bytes=0-{self.size - 1}\r\n\r\n"
        try:
            self.socket.send(request.encode())
        except BlockingIOError:
            return
        except OSError as error:
            self._fail(error)
            return
        self.began = self.home.loop.now()
        self.home.loop.watch(self.socket.fileno(), READ, self._answer)

    def _answer(self, _events: int) -> None:
        try:
            data = self.socket.recv(65536 if self.rate is None else READ_SIZE)
        except BlockingIOError:
            return
        except OSError as error:
            self._fail(error)
            return
        if not data:
            self._fail(OSError(0, "the server closed early"))
            return
        self.read += len(data)
        if self.head is not None:
            self.head += data
            begin = self.head.find(b"\r\n\r\n")
            if begin < 0:
                return
            if not self.head.startswith((b"HTTP/1.1 206", b"HTTP/1.0 206")):
                self._fail(OSError(0, f"the server answered {self.head[:30]!r}"))
                return
            data, self.head = self.head[begin + 4 :], None
        self.left -= len(data)
        if self.home.counting:
            self.home.got[self.session] = self.home.got.get(self.session, 0) + len(data)
        if self.left <= 0:
            self._end(whole=True)
        elif self.rate is not None:
            self._pace()

    def _pace(self) -> None:
        """Continue to read when the rate limit allows."""
        loop = self.home.loop
        due = self.began + round(self.read / self.rate * 1e9)
        if due > loop.now():
            loop.forget(self.socket.fileno())
            loop.at(due, self._resume)

    def _resume(self) -> None:
        if not self.closed:
            self.home.loop.watch(self.socket.fileno(), READ, self._answer)

    def _fail(self, error: OSError) -> None:
        self.home.faults.add(f"object of session {self.session}", error)
        self._end(whole=False)

    def _end(self, *, whole: bool) -> None:
        self.closed = True
        self.home.loop.forget(self.socket.fileno())
        if whole:
            self.socket.close()
        else:
            abort(self.socket)
        self.ended(whole)
