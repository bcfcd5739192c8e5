"""Records: everything measured in one run, in memory (`Record`) and as columns of a file."""

from sojourn.record.record import (
    CARRIES,
    CAUSES,
    ECN,
    EVENTS,
    NO_REASON,
    TYPES,
    UNFINISHED,
    UNKNOWN,
    Record,
    array,
    numbers,
    transport,
)

__all__ = [
    "CARRIES",
    "CAUSES",
    "ECN",
    "EVENTS",
    "NO_REASON",
    "TYPES",
    "UNFINISHED",
    "UNKNOWN",
    "Record",
    "array",
    "numbers",
    "transport",
]
