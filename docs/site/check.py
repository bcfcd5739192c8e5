"""Check a built site: every link has a target, and no page loads anything from another host.

    python docs/site/check.py target/site

Prints each mistake and exits with 1 if there is one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Elements whose address a browser loads without a click.
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data", "embed": "src"}
#: Relations of `<link>` that a browser does not load.
NAMED = {"canonical", "next", "prev", "search", "index", "author"}


class Page(HTMLParser):
    """The identifiers, links and loaded addresses of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect from one element."""
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and LOADED[tag] in given:
            self.loaded.append(given[LOADED[tag]])
        if tag == "link" and not set(given.get("rel", "").split()) & NAMED:
            self.loaded.append(given.get("href", ""))
        self.loaded += re.findall(r"url\(\s*['\"]?([^)'\"]+)", given.get("style", ""))


def is_external(address: str) -> bool:
    """Return whether an address is on another host."""
    return bool(urlsplit(address).netloc) and not address.startswith("data:")


def problems(site: Path) -> Iterator[str]:
    """Yield every mistake of a site."""
    pages = {
        path: Page(path.read_text(encoding="utf-8"))
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.relative_to(site).parts  # templates of the theme
    }
    for path, page in pages.items():
        name = path.relative_to(site)
        yield from (f"{name}: loads {address}" for address in page.loaded if is_external(address))
        for address in [*page.links, *page.loaded]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                yield f"{name}: {address} does not exist"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                yield f"{name}: {address} has no such section"
    for style in sorted(site.rglob("*.css")):
        for address in re.findall(r"(?:url\(|@import)\s*['\"]?([^)'\"]+)", style.read_text(encoding="utf-8")):
            if is_external(address):
                yield f"{style.relative_to(site)}: loads {address}"


def main(folder: str) -> int:
    """Print all mistakes."""
    site = Path(folder).resolve()
    found = sorted(set(problems(site)))
    print(*found, f"{len(list(site.rglob('*.html')))} pages, {len(found)} mistakes", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
