"""Questions about the paper, and the claims that answer them."""

from __future__ import annotations

from sojourn.papers.answers import Question

QUESTIONS = (
    Question(
        "Is the simulated load that of the testbed: half of all packets lost under every algorithm?",
        ("AVQ-24", "AVQ-23"),
        "Yes.",
        "No.",
        "Nearly: the shares of lost packets are the paper's, but an algorithm with less throughput is "
        "offered less.",
    ),
    Question(
        "Does AVQRED come first by the paper's own rule?",
        ("AVQ-01", "AVQ-21"),
        "Yes.",
        "No.",
    ),
    Question(
        "Does AVQRED have the shortest queue?",
        ("AVQ-06", "AVQ-07", "AVQ-08"),
        "Yes, and with little jitter.",
        "No. As printed, its virtual queue drains at the measured departure rate. While the real queue is "
        "not empty, both drain at the same rate, so the real queue does not become shorter: packets that "
        "arrived while the rate was misestimated remain. With a desired utilisation below 1, which the "
        "text mentions but the listing does not (a reading), it is short, but then the virtual capacity "
        "follows the carried rate down to its minimum.",
    ),
    Question(
        "Does it carry nearly as much as RED, ARED and PI, and more steadily?",
        ("AVQ-02", "AVQ-03", "AVQ-05"),
        "Yes.",
        "No: it carries as much as they do, as unsteadily as the gateway itself.",
    ),
    Question(
        "Do GKVQ and AVQ pay for steadiness with utilisation?",
        ("AVQ-04", "AVQ-16", "AVQ-17"),
        "Yes.",
        "No.",
    ),
    Question(
        "Does AVQRED spread its drops more evenly, and drop less?",
        ("AVQ-09", "AVQ-10", "AVQ-11", "AVQ-12", "AVQ-13", "AVQ-26"),
        "Yes.",
        "No.",
    ),
    Question(
        "Is the overall gain 8 to 25 %?",
        ("AVQ-14",),
        "Yes.",
        "No.",
    ),
    Question(
        "Does the paper's arithmetic hold?",
        ("AVQ-40", "AVQ-41", "AVQ-42", "AVQ-43", "AVQ-44", "AVQ-45", "AVQ-46", "AVQ-39", "AVQ-47"),
        "All of it.",
        "None of it.",
        "All but two things. Two entries of Table 5, the drops against RED and ARED, have a sign that "
        "Table 2 does not allow. And G is not the sum of 2^rank but of other weights, under which the order "
        "is the same.",
    ),
    Question(
        "With a buffer of 15 packets, does RED behave like tail drop, and AVQRED not?",
        ("AVQ-28",),
        "Yes.",
        "Not as claimed.",
    ),
    Question(
        "Does ARED need the hysteresis that the authors added?",
        ("AVQ-27",),
        "Yes: without it max_p is too low.",
        "Not here: if max_p may rise to 1, it settles without the hysteresis.",
    ),
    Question(
        "Is too low a minimum capacity harmless after the start?",
        ("AVQ-29",),
        "Yes.",
        "No: the virtual capacity stays at the carried rate.",
    ),
    Question(
        "Are the settings of Table 1 good ones, by the rank rule among their neighbours?",
        ("AVQ-48",),
        "Yes.",
        "Not all of them: for some, half or one and a half of a parameter gives better sums of ranks.",
    ),
    Question(
        "Do the queues of GKVQ and AVQ fill and overflow if the processing allocation shifts?",
        ("AVQ-49", "AVQ-50"),
        "Yes.",
        "No.",
    ),
    Question(
        "Does AVQRED then keep a shorter queue than they do?",
        ("AVQ-51",),
        "Yes.",
        "No.",
    ),
    Question(
        "Do the solutions of the paper's fluid model agree with its text?",
        ("AVQ-32", "AVQ-33", "AVQ-34", "AVQ-35", "AVQ-36"),
        "Yes.",
        "No.",
        "In part: a shorter queue and a little less utilisation, yes; a queue that varies more and a higher "
        "arrival rate, no. Higher arrivals and lower utilisation exclude each other in equilibrium.",
    ),
)  # fmt: skip
