"""Questions about the paper, and the claims that answer them."""

from __future__ import annotations

from sojourn.papers.answers import Question

QUESTIONS = (
    Question(
        "Is tail drop as good as RED in TCP goodput, the paper's main finding?",
        ("TD-01", "TD-06", "TD-18", "TD-30"),
        "Yes.",
        "No.",
    ),
    Question(
        "Does global synchronisation make tail drop's queue swing when flows are few, and not when they are "
        "many?",
        ("TD-19", "TD-20", "TD-13"),
        "Yes.",
        "No.",
    ),
    Question(
        "Does REDopt, set for each load, control the mean delay under FTP traffic?",
        ("TD-15", "TD-16", "TD-17"),
        "Yes: its queue stays midway between its thresholds, that of (G)REDstd drifts with the load.",
        "No.",
    ),
    Question(
        "And under web traffic?",
        ("TD-36", "TD-37"),
        "Yes: its delay rises least with the load, and its queue is the nearest to the middle.",
        "No.",
        "Its delay rises least with the load, or its queue is the nearest to the middle, but not both.",
    ),
    Question(
        "Does REDopt halve UDP's loss against (G)REDstd at light FTP load?",
        ("TD-07",),
        "Yes.",
        "No.",
    ),
    Question(
        "Is the UDP loss of tail drop in between?",
        ("TD-08",),
        "Yes.",
        "No.",
    ),
    Question(
        "Do the mechanisms lose the same share of UDP at heavy FTP load, and differ little overall?",
        ("TD-09", "TD-47"),
        "Yes.",
        "No: the differences exceed the margins.",
    ),
    Question(
        "At 256 flows, has REDstd the worst consecutive losses, GREDstd fewer, REDopt few with a heavy tail?",
        ("TD-23", "TD-24", "TD-25", "TD-50"),
        "As the paper says.",
        "Not as the paper says.",
    ),
    Question(
        "Is every RED variant worse than tail drop in consecutive losses under web traffic?",
        ("TD-42", "TD-43"),
        "Yes: the averaged queue often reaches max_th.",
        "No.",
    ),
    Question(
        "Does a larger queue weight shorten runs of drops?",
        ("TD-44",),
        "Yes.",
        "No: an average with a short memory reaches max_th within a burst, and from there on RED drops all.",
    ),
    Question(
        "Does a longer memory make the delay vary more under web traffic?",
        ("TD-45",),
        "Yes.",
        "No.",
    ),
    Question(
        "The paper says that tail drop does badly in consecutive losses at light FTP load, and that it does "
        "well at any load. Are both true?",
        ("TD-22", "TD-46"),
        "Yes, though they contradict each other.",
        "No, neither.",
        "No: only one of the two is true.",
    ),
    Question(
        "Do two simulations of the testbed agree, one with the TCP of its hosts and one with that of ns-2?",
        ("TD-26",),
        "Yes, as the paper says of measurement and simulation.",
        "No: the pause of ns-2's RED after a drop (wait) changes delays, delayed acknowledgements change "
        "losses.",
    ),
    Question(
        "Is max_p of REDopt twice the drop probability?",
        ("TD-54",),
        "Yes, within the margin.",
        "No.",
    ),
    Question(
        "Is the product of bandwidth and round trip 300 packets?",
        ("TD-27",),
        "Yes.",
        "No: not with round trips of 120 to 180 ms.",
    ),
    Question(
        "Do the printed thresholds follow their rule?",
        ("TD-52",),
        "Yes.",
        "All but one: 74, which should be 75, for REDopt at 1400 sessions.",
    ),
)
