"""The live page: a scenario with sliders, simulated in the browser or by a local server."""

from sojourn.explore.page import DEFAULT, page, write
from sojourn.explore.server import Server
from sojourn.explore.tours import Tour, tours

__all__ = ["DEFAULT", "Server", "Tour", "page", "tours", "write"]
