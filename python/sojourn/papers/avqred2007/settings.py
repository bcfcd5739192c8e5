"""Table 1: the 20 settings of the seven algorithms.

Every printed or assumed value (non-gentle RED, ARED's constants, AVQ's desired utilisation) is explicit, so
that no result depends on a default of the library.
"""

from __future__ import annotations

Words = dict[str, str]

_RED = {"min_th": "15p", "max_th": "30p", "gentle": "off"}
#: "max_p reduction ... requires the queue size to stay under the target queue size for n times".
_ARED = {
    **_RED, "max_p": "0.7", "interval": "500ms", "alpha": "0.01", "beta": "0.9", "top": "1",
    "hysteresis": "10",
}  # fmt: skip
_GKVQ = {"form": "packet", "mode": "byte"}
_AVQ = {"gamma": "0.98", "mode": "byte"}
_AVQRED = {
    "min_capacity": "13Mbit/s", "max_capacity": "25Mbit/s", "min_th": "10p", "max_th": "21p", "unit": "1500B",
    "interval": "1ms", "gamma": "1",
}  # fmt: skip

#: Name of the setting to algorithm and parameters.
TABLE1: dict[str, tuple[str, Words]] = {
    "RED1": ("red", {**_RED, "w_q": "1", "max_p": "0.7"}),
    "RED2": ("red", {**_RED, "w_q": "1", "max_p": "1"}),
    "RED3": ("red", {**_RED, "w_q": "0.1", "max_p": "0.5"}),
    "ARED1": ("ared", {**_ARED, "w_q": "1"}),
    "ARED2": ("ared", {**_ARED, "w_q": "0.1"}),
    "BLUE1": ("blue", {"l": "30p", "d1": "0.01", "d2": "0.05", "freeze_time": "50ms"}),
    "BLUE2": ("blue", {"l": "30p", "d1": "0.01", "d2": "0.05", "freeze_time": "100ms"}),
    "BLUE3": ("blue", {"l": "30p", "d1": "0.001", "d2": "0.0005", "freeze_time": "50ms"}),
    "GKVQ1": ("gkvq", {**_GKVQ, "buffer": "16250B", "rate": "13Mbit/s"}),
    "GKVQ2": ("gkvq", {**_GKVQ, "buffer": "17500B", "rate": "14Mbit/s"}),
    "GKVQ3": ("gkvq", {**_GKVQ, "buffer": "18750B", "rate": "15Mbit/s"}),
    "AVQ1": ("avq", {**_AVQ, "buffer": "16250B", "rate": "13Mbit/s", "alpha": "0.1"}),
    "AVQ2": ("avq", {**_AVQ, "buffer": "17500B", "rate": "14Mbit/s", "alpha": "0.05"}),
    "AVQ3": ("avq", {**_AVQ, "buffer": "17500B", "rate": "14Mbit/s", "alpha": "0.1"}),
    "PI1": ("pi", {"f_s": "100", "a": "0.05", "b": "0.01", "q_ref": "22p"}),
    "PI2": ("pi", {"f_s": "100", "a": "0.1", "b": "0.02", "q_ref": "22p"}),
    "PI3": ("pi", {"f_s": "100", "a": "0.05", "b": "0.02", "q_ref": "22p"}),
    "AVQRED1": ("avqred", {**_AVQRED, "alpha": "0.005"}),
    "AVQRED2": ("avqred", {**_AVQRED, "alpha": "0.001"}),
    "AVQRED3": ("avqred", {**_AVQRED, "alpha": "0.05"}),
}
SETTINGS = tuple(TABLE1)
#: "For each AQM method, the parameter setting that scored the best rank weight was picked".
BEST = {
    "RED": "RED2",
    "ARED": "ARED1",
    "BLUE": "BLUE3",
    "GKVQ": "GKVQ2",
    "AVQ": "AVQ3",
    "PI": "PI1",
    "AVQRED": "AVQRED3",
}
OTHERS = tuple(name for name in BEST if name != "AVQRED")
#: The parameters printed in Table 1, by algorithm: those that the authors may have tuned.
TUNED = {
    "red": ("w_q", "min_th", "max_th", "max_p"),
    "ared": ("w_q", "min_th", "max_th", "max_p"),
    "blue": ("l", "d1", "d2", "freeze_time"),
    "gkvq": ("buffer", "rate"),
    "avq": ("buffer", "rate", "alpha"),
    "pi": ("f_s", "a", "b", "q_ref"),
    "avqred": ("min_capacity", "max_capacity", "alpha", "min_th", "max_th"),
}


def scaled(word: str, factor: float) -> str:
    """Return a number with its unit times a factor.

    Examples
    --------
    >>> scaled("15p", 1.5), scaled("50ms", 0.5)
    ('22.5p', '25ms')
    """
    number = word.rstrip("abcdefghijklmnopqrstuvwxyzMB/")
    return f"{float(number) * factor:.10g}{word[len(number) :]}"
