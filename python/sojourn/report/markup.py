"""A subset of Markdown as HTML: paragraphs, lists, emphasis, code and links; all other text is escaped."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_CODE = re.compile(r"`([^`\n]+)`")
_STRONG = re.compile(r"\*\*(\S(?:.*?\S)?)\*\*", re.DOTALL)
_EMPHASIS = re.compile(r"(?<![\w*])\*(\S(?:[^*]*?\S)?)\*(?![\w*])")
_LINK = re.compile(r"\[([^\]\n]+)\]\(((?:https?://|#|\.{1,2}/)[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)\)")


def inline(text: str) -> Markup:
    """Return text within a paragraph as HTML.

    Parameters
    ----------
    text
        With emphasis, code and links.

    Returns
    -------
    markupsafe.Markup
        Everything else escaped.
    """
    pieces: list[str] = []
    position = 0
    for code in _CODE.finditer(text):
        pieces.append(_emphasis(text[position : code.start()]))
        pieces.append(f"<code>{escape(code[1])}</code>")
        position = code.end()
    pieces.append(_emphasis(text[position:]))
    return Markup("".join(pieces))


def blocks(text: str) -> Markup:
    """Return a text of several paragraphs as HTML.

    Parameters
    ----------
    text
        Paragraphs, lists (lines that begin with ``-``) and code between lines of three backticks.

    Returns
    -------
    markupsafe.Markup
        Everything else escaped.
    """
    found: list[str] = []
    for i, part in enumerate(re.split(r"^```.*$", text.strip(), flags=re.MULTILINE)):
        if i % 2:
            found.append(f"<pre><code>{escape(part.strip(chr(10)))}</code></pre>")
            continue
        for paragraph in re.split(r"\n\s*\n", part):
            found += _paragraph([line.rstrip() for line in paragraph.strip().splitlines()])
    return Markup("\n".join(found))


def _paragraph(lines: list[str]) -> list[str]:
    found: list[str] = []
    prose: list[str] = []
    items: list[str] = []
    for line in lines:
        if match := re.match(r"\s*[-*]\s+(.*)", line):
            items.append(match[1])
        elif items and line.startswith((" ", "\t")):
            items[-1] += f" {line.strip()}"
        else:
            found += _list(items)
            items = []
            prose.append(line)
            continue
        if prose:
            found.append(f"<p>{inline(chr(10).join(prose))}</p>")
            prose = []
    if prose:
        found.append(f"<p>{inline(chr(10).join(prose))}</p>")
    return found + _list(items)


def _list(items: list[str]) -> list[str]:
    return ["<ul>" + "".join(f"<li>{inline(item)}</li>" for item in items) + "</ul>"] if items else []


def _emphasis(text: str) -> str:
    pieces: list[str] = []
    position = 0
    for link in _LINK.finditer(text):
        pieces.append(_stars(text[position : link.start()]))
        pieces.append(f'<a href="{escape(link[2])}">{_stars(link[1])}</a>')
        position = link.end()
    pieces.append(_stars(text[position:]))
    return "".join(pieces)


def _stars(text: str) -> str:
    html = str(escape(text))
    html = _STRONG.sub(r"<strong>\1</strong>", html)
    return _EMPHASIS.sub(r"<em>\1</em>", html)
