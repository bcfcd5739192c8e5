"""Questions about the paper, and the claims that answer them."""

from __future__ import annotations

from sojourn.papers.answers import Question

QUESTIONS = (
    Question(
        "Does load in addition to delay shorten web response times compared with drop tail, the paper's "
        "main claim?",
        ("LDC-03", "LDC-47"),
        "Yes.",
        "No.",
    ),
    Question(
        "Does it also shorten the longest response times?",
        ("LDC-04",),
        "Yes, although the paper's own table says otherwise.",
        "No, as in the paper's own table.",
    ),
    Question(
        "Is LDC second only to FRED?",
        ("LDC-01", "LDC-02"),
        "Yes.",
        "No.",
    ),
    Question(
        "Does it reduce throughput?",
        ("LDC-06", "LDC-07", "LDC-08"),
        "Yes: REM and LDC carry less web traffic.",
        "No: sessions request the same pages under every algorithm, and most of them complete.",
    ),
    Question(
        "Does LDC give UDP the shortest delays?",
        ("LDC-17", "LDC-18"),
        "Yes.",
        "No: an algorithm with a fixed target in packets has shorter ones.",
    ),
    Question(
        "Does LDC keep the delay below the target?",
        ("LDC-19", "LDC-25"),
        "Yes.",
        "No: it controls an average, and bursts exceed the target.",
        "The longest UDP delay of GFC-2 stays below it, the queue of Fig. 8 does not: LDC controls an "
        "average, and bursts exceed the target.",
    ),
    Question(
        "Are the numbers of the table of weights (Table 5) reproduced?",
        ("LDC-32", "LDC-33", "LDC-34", "LDC-35", "LDC-36", "LDC-37", "LDC-38"),
        "Yes.",
        "No.",
    ),
    Question(
        "Do the exponent and the interval hardly matter, as the paper says without showing it?",
        ("LDC-40", "LDC-41"),
        "Yes.",
        "They do matter: in equilibrium the queue is the target times the n-th root of the loss ratio, and "
        "with a short interval the load part reacts to single packets that are close together, with a long "
        "one to the load.",
    ),
    Question(
        "Are the recommended weights and target loads good ones?",
        ("LDC-50", "LDC-51"),
        "Yes: throughput and delay hold under all of them; with 100 flows the target load changes nothing.",
        "No.",
    ),
    Question(
        "Is LDC's function concave?",
        ("LDC-46",),
        "Yes.",
        "No: with an exponent of 3 it is convex. The word is an error.",
    ),
    Question(
        "Are the numbers of Table 3 reproduced, cell by cell?",
        ("LDC-24",),
        "Yes.",
        "No. The printed longest response times (932 s to 1178 s) exceed the run of 900 s, so that the paper "
        "cannot have measured what its definition says; its web model is not known either.",
    ),
)
