"""RED in Python: the same decisions as the built-in ``red`` in its default form, packet mode.

sojourn run examples/red40.toml --aqm "examples/own/red.py:RED max_th 45p" --aqm "red max_th 45"
"""

import sojourn


class RED(sojourn.Aqm):
    """Random Early Detection.

    Drops with a probability that rises with the average queue.
    """

    source = "Floyd and Jacobson 1993"
    probes = {"avg": ("packets", "average queue"), "p": "base probability at the current average"}

    min_th = sojourn.Param("5p", above=0, doc="Average queue from which packets are dropped", source="FJ93")
    max_th = sojourn.Param("15p", above=0, doc="Average queue of certain drops", source="Floyd 1997")
    max_p = sojourn.Param(0.1, above=0, max=1, doc="Base probability just below max_th", source="Floyd 1997")
    w_q = sojourn.Param(0.002, above=0, max=1, doc="Weight of the current queue", source="FJ93")

    def start(self):
        if self.max_th <= self.min_th:
            raise ValueError("max_th is not above min_th")
        self.avg, self.p, self.count = 0.0, 0.0, -1
        self.idle_since, self.ended = 0, None

    def on_offered(self, now, packet, queue):
        if self.idle_since is None:
            self.avg += self.w_q * (queue.packets - self.avg)
        else:
            # While idle, the average decays as if every packet that the link could have sent met an empty
            # queue.
            bits = 8 * 10**9 * self.link.mean_packet  # bits of a packet, times nanoseconds per second
            unsent = (now - self.idle_since) * self.link.rate // bits
            self.avg *= (1.0 - self.w_q) ** unsent
            self.ended = now, self.idle_since + unsent * bits // self.link.rate
            self.idle_since = None
        if self.avg < self.min_th:
            self.p = 0.0
        elif self.avg < self.max_th:
            self.p = self.max_p * (self.avg - self.min_th) / (self.max_th - self.min_th)
        else:
            self.p = 1.0

    def on_arrival(self, now, packet, queue, rng):
        if self.avg < self.min_th:
            self.count = -1
            return sojourn.PASS
        if self.avg >= self.max_th:
            self.count = 0
            return self.signal(packet, "forced")
        self.count += 1
        spread = 1.0 - self.count * self.p
        if rng.uniform() < (self.p / spread if spread > 0.0 else 1.0):
            self.count = 0
            return self.signal(packet)
        return sojourn.PASS

    def on_drop(self, now, packet, cause, queue):
        self.count = 0

    def on_idle(self, now):
        # A refused arrival does not end the idle time: the part not yet accounted for continues.
        self.idle_since = self.ended[1] if self.ended is not None and self.ended[0] == now else now
