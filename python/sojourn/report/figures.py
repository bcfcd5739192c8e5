"""The figures of a document as PDF files, for a paper."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from sojourn import files
from sojourn.plots import Svg
from sojourn.report.document import Block, Columns, Document, Figure, Section


def write_pdf(document: Document, folder: Path) -> int:
    """Write each figure as ``figure-N.pdf``, with the number that it has in the report.

    Its further pictures are ``figure-N-2.pdf`` and so on.

    Parameters
    ----------
    document
        The document; figures must come from `sojourn.plots`.
    folder
        The folder; made if it does not exist.

    Returns
    -------
    int
        The number of figures.
    """
    count = 0
    files.make_folder(folder)
    for count, one in enumerate(_figures(document.blocks), 1):
        for i, svg in enumerate((one.svg, *one.more), 1):
            if isinstance(svg, Svg):
                content = io.BytesIO()
                svg.figure.savefig(content, format="pdf", metadata={"CreationDate": None})
                name = f"figure-{count}.pdf" if i == 1 else f"figure-{count}-{i}.pdf"
                files.write(folder / name, content.getvalue())
    return count


def _figures(blocks: Sequence[Block]) -> Iterator[Figure]:
    """Yield the figures in the order of their numbers."""
    for one in blocks:
        if isinstance(one, Figure):
            yield one
        elif isinstance(one, Section | Columns):
            yield from _figures(one.blocks)
