"""The site has every page in its navigation, and the check of a built site finds its mistakes.

`make site` builds it; that needs packages which the tests do not. Mutants seen to fail: a page that no
section has, a section with a page that does not exist.
"""

from __future__ import annotations

import fnmatch
import importlib.util
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs/site"


def test_every_page_is_in_one_section() -> None:
    sections = tomllib.loads((SITE / "contents.toml").read_text(encoding="utf-8"))["section"]
    patterns = [pattern for one in sections for pattern in one["pages"]]
    explicit = {name for name in patterns if "*" not in name}
    files = [
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("docs/**/*.rst"),
        ROOT / "CHANGELOG.md",
        ROOT / "SECURITY.md",
    ]
    pages = {
        str(file.relative_to(ROOT).with_suffix(""))
        for file in files
        if file.parent.name not in ("parts", "site")
    }
    for page in pages - {one["page"] for one in sections} - {"docs/README"}:
        assert page in explicit or any(
            fnmatch.fnmatchcase(page, pattern) and page.count("/") == pattern.count("/")
            for pattern in patterns
        ), f"{page} is in no section of docs/site/contents.toml"
    named = explicit | {one["page"] for one in sections}
    assert [name for name in sorted(named) if not list(ROOT.glob(f"{name}.*"))] == []
    assert len(explicit) == len([name for name in patterns if "*" not in name])


def test_the_check_of_a_site_finds_each_mistake(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("check_site", SITE / "check.py")
    assert spec is not None
    assert spec.loader is not None
    check = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(check)
    (tmp_path / "good.html").write_text(
        '<h1 id="top">A</h1><a href="#top">B</a><a href="https://example.org">C</a>'
    )
    assert list(check.problems(tmp_path)) == []
    (tmp_path / "bad.html").write_text(
        '<script src="https://example.org/a.js"></script><img src="//example.org/a.png">'
        '<link rel="stylesheet" href="http://example.org/a.css">'
        '<link rel="canonical" href="https://example.org/">'
        '<p style="background: url(https://example.org/b.png)"><a href="none.html">A</a>'
        '<a href="good.html#no">B</a>'
    )
    (tmp_path / "bad.css").write_text(
        '@import "https://example.org/c.css"; @font-face { src: url(font.woff2) }'
    )
    assert sorted(check.problems(tmp_path)) == [
        "bad.css: loads https://example.org/c.css",
        "bad.html: good.html#no has no such section",
        "bad.html: loads //example.org/a.png",
        "bad.html: loads http://example.org/a.css",
        "bad.html: loads https://example.org/a.js",
        "bad.html: loads https://example.org/b.png",
        "bad.html: none.html does not exist",
    ]
