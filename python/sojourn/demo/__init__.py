"""The first page: what this is, and whether it is any good, from runs of a link and of a paper."""

from sojourn.demo.page import Demo, document, for_whom, simulate

__all__ = ["Demo", "document", "for_whom", "simulate"]
