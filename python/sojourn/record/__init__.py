"""Records: everything measured in one run, in memory (`Record`) and as columns of a file."""

from sojourn.record.record import Record, array, numbers, transport
from sojourn.record.tables import (
    CARRIES,
    CAUSES,
    ECN,
    EVENTS,
    NO_REASON,
    TYPES,
    UNFINISHED,
    UNKNOWN,
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
