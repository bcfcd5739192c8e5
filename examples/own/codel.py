"""CoDel in Python: decides at departure, with the same decisions as the built-in ``codel``.

sojourn run examples/red40.toml --aqm examples/own/codel.py:CoDel --aqm codel
"""

from math import isqrt

import sojourn


class CoDel(sojourn.Aqm):
    """Controlled Delay.

    After the delay has stayed above target for an interval, drops with decreasing gaps until it is below.
    """

    source = "RFC 8289"
    probes = {"count": ("packets", "number of drops that determines the current gap")}

    target = sojourn.Param("5ms", min="1us", doc="Acceptable standing delay", source="RFC 8289")
    interval = sojourn.Param("100ms", min="1us", doc="Time above target before a drop", source="RFC 8289")
    max_packet = sojourn.Param("1500B", min=1, doc="Backlog that is always accepted", source="RFC 8289")

    def start(self):
        self.first_above = None  # end of the interval above target; None while below
        self.dropping, self.drop_next, self.count, self.last_count = False, 0, 0, 0
        self.dropped = ""  # the drop that preceded this head: "", "first" or "next"

    def later(self, time):
        return time + isqrt(self.interval * self.interval // max(1, self.count))

    def ok_to_drop(self, now, packet, queue):
        if now - packet.arrived < self.target or queue.bytes <= self.max_packet:
            self.first_above = None
        elif self.first_above is None:
            self.first_above = now + self.interval
        else:
            return now >= self.first_above
        return False

    def on_departure(self, now, packet, queue, rng):
        ok, before = self.ok_to_drop(now, packet, queue), self.dropped
        self.dropped = ""
        if before == "first":
            return sojourn.PASS
        if not before and not self.dropping:
            return self.begin(now, packet) if ok else sojourn.PASS
        self.dropping = ok
        if ok and before == "next":
            self.drop_next = self.later(self.drop_next)
        if not ok or now < self.drop_next:
            return sojourn.PASS
        self.count += 1
        verdict = self.signal(packet)
        if verdict == sojourn.MARK:
            self.drop_next = self.later(self.drop_next)
        else:
            self.dropped = "next"
        return verdict

    def begin(self, now, packet):
        recent, again = now - self.drop_next < 16 * self.interval, self.count - self.last_count
        self.dropping = True
        self.count = self.last_count = again if recent and again > 1 else 1
        self.drop_next = self.later(now)
        verdict = self.signal(packet)
        self.dropped = "first" if verdict == sojourn.DROP else ""
        return verdict

    def on_idle(self, now):
        self.first_above, self.dropping, self.dropped = None, False, ""
