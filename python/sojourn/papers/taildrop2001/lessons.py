"""What one wants to know of the paper, and the claims that answer it."""

from __future__ import annotations

from sojourn.papers.learned import Lesson

LESSONS: tuple[Lesson, ...] = ()
