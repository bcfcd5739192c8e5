"""Records: everything measured in one run, in memory (`Record`) and as columns of a file."""

from sojourn.record.record import CAUSES, TYPES, UNFINISHED, UNKNOWN, Record, array, numbers, transport

__all__ = ["CAUSES", "TYPES", "UNFINISHED", "UNKNOWN", "Record", "array", "numbers", "transport"]
