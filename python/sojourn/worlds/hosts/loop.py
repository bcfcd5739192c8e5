"""An event loop with timers and sockets in one thread; all traffic generators run on it.

Times are nanoseconds of the monotonic clock, which all namespaces share. ``epoll`` would round timeouts up to
a millisecond; ``select`` on its descriptor does not.
"""

from __future__ import annotations

import heapq
import itertools
import select
import time
from collections.abc import Callable

Ready = Callable[[int], None]
READ, WRITE = select.EPOLLIN, select.EPOLLOUT


class Loop:
    """Calls expired timers and ready sockets until `stop`."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._ready: dict[int, Ready] = {}
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._number = itertools.count()
        self._running = False

    def at(self, when: int, call: Callable[[], None]) -> None:
        """Call once, no earlier than `when`; calls with equal times run in the order of registration."""
        heapq.heappush(self._due, (when, next(self._number), call))

    def watch(self, descriptor: int, events: int, call: Ready) -> None:
        """Call with the pending events while any of `events` is pending; a second call replaces `events`."""
        if descriptor in self._ready:
            self._epoll.modify(descriptor, events)
        else:
            self._epoll.register(descriptor, events)
        self._ready[descriptor] = call

    def forget(self, descriptor: int) -> None:
        """Stop watching a descriptor."""
        if self._ready.pop(descriptor, None) is not None:
            self._epoll.unregister(descriptor)

    @staticmethod
    def now() -> int:
        """Return the time."""
        return time.monotonic_ns()

    def stop(self) -> None:
        """Return from `run` after the timers that have expired."""
        self._running = False

    def run(self) -> None:
        """Run until `stop`; timers that have expired at the start run before ready sockets."""
        self._running = True
        epoll = self._epoll
        while True:
            now = time.monotonic_ns()
            while self._due and self._due[0][0] <= now:
                heapq.heappop(self._due)[2]()
            if not self._running:
                return
            wait = None if not self._due else max(0, self._due[0][0] - time.monotonic_ns()) / 1e9
            if select.select([epoll], [], [], wait)[0]:
                for descriptor, events in epoll.poll(0):
                    call = self._ready.get(descriptor)
                    if call is not None:
                        call(events)
