"""The PI controller in Python: uses a timer, with the same decisions as the built-in ``pi``.

sojourn run examples/red40.toml --aqm "examples/own/pi.py:PI q_ref 50" --aqm "pi q_ref 50"
"""

import sojourn


class PI(sojourn.Aqm):
    """Proportional-integral controller.

    Every 1/f_s the drop probability changes by a term of the error q - q_ref and a term of its change.
    """

    source = "Hollot, Misra, Towsley and Gong 2001"
    probes = {"p": "drop probability", "q_old": ("packets", "queue at the last sample")}

    a = sojourn.Param(1.822e-5, min=0, max=1e9, doc="Gain of the current error", source="Hollot et al. 2001")
    b = sojourn.Param(1.816e-5, min=0, max=1e9, doc="Gain of the previous error", source="Hollot et al. 2001")
    period = sojourn.Param("6.25ms", min="1us", doc="Time between two samples", source="Hollot et al. 2001")
    q_ref = sojourn.Param("200p", min=0, doc="Reference queue length", source="Hollot et al. 2001")

    def start(self):
        if self.b >= self.a:
            raise ValueError("b is not less than a")
        self.p, self.q_old, self.due = 0.0, 0.0, self.period

    def on_arrival(self, now, packet, queue, rng):
        if rng.uniform() < self.p:
            return self.signal(packet)
        return sojourn.PASS

    def next_timer(self):
        return self.due

    def on_timer(self, now, queue):
        step = self.a * (queue.packets - self.q_ref) - self.b * (self.q_old - self.q_ref)
        self.p = min(1.0, max(0.0, self.p + step))
        self.q_old = float(queue.packets)
        self.due = now + self.period
