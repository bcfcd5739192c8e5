"""Configuration of the site: the Markdown of the repository as it is, in the order of `contents.toml`.

The source directory is the root of the repository, so that a link works on the site and in the repository.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent
#: The first page, which holds the navigation.
root_doc = "docs/README"
#: The live page, if `make site` has written it.
LIVE = HERE.parents[1] / "target/live/live.html"

project = "Sojourn"
author = copyright = "The Sojourn developers"  # noqa: A001 - the name that Sphinx reads
html_title = "Sojourn"
language = "en"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
include_patterns = ["*.md", "docs/**", "validation/**", "benches/**", "crates/*/tests/mutants.md"]
exclude_patterns = ["README.md", "docs/parts", "docs/site", ".*", "target", "results", "wheelhouse", "web"]
exclude_patterns += ["python", "tests", "examples", "requirements", "tools"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_heading_anchors = 4
default_role = "code"
autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
}
html_copy_source = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_extra_path = ["index.html", *([str(LIVE)] if LIVE.exists() else [])]  # the first leads to the first page


def contents() -> dict[str, list[str]]:
    """Return the pages below each page, in order."""
    sections = tomllib.loads((HERE / "contents.toml").read_text(encoding="utf-8"))["section"]
    below = {one["page"]: one["pages"] for one in sections}
    inner = {page for pages in below.values() for page in pages}
    return {root_doc: [page for page in below if page not in inner], **below}


def add_navigation(_: Sphinx, name: str, source: list[str]) -> None:
    """Append the list of the pages below a page, which Markdown itself does not have."""
    if name == "docs/explore" and LIVE.exists():
        source[0] += '\n## Try it\n\n<p><a href="../live.html">Open the live page of a home link</a></p>\n'
    pages = contents().get(name)
    if pages:
        names = "\n".join(f"/{page}" for page in pages)
        source[0] += f"\n\n```{{toctree}}\n:hidden:\n:glob:\n\n{names}\n```\n"


def setup(app: Sphinx) -> None:
    """Connect the navigation."""
    app.connect("source-read", add_navigation)
