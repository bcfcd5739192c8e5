"""MSER-5: the warm-up that minimises the standard error of the mean of the rest.

White (1997): of all truncations d of a series of n batch means (five observations each), take the one with
the smallest variance / (n - d), the squared standard error of the mean of the rest. If it lies beyond half
the series, there is too little data. It is a hint, not a proof: it uses one run and one quantity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BATCH = 5
#: Length to which a series is reduced first: 10 ms samples of a queue are strongly correlated.
OBSERVATIONS = 1000


def mser(values: Floats, batch: int = BATCH) -> int | None:
    """Return the number of initial values to discard, a multiple of `batch`; None if unknown.

    Examples
    --------
    >>> import numpy as np
    >>> start = np.linspace(50, 0, 20)
    >>> mser(np.concatenate([start, np.tile([0.0, 1.0, 2.0], 60)]))
    20
    """
    import numpy as np

    n = len(values) // batch
    if n < 4:
        return None
    means = values[: n * batch].reshape(n, batch).mean(axis=1)
    # Sums over the rest after d batches, d = 0 ... n - 1.
    left = np.arange(n, 0, -1)
    total = np.cumsum(means[::-1])[::-1]
    squares = np.cumsum(((means - means.mean()) ** 2)[::-1])[::-1]
    away = total - left * means.mean()
    error = (squares - away**2 / left) / left**2
    best = int(np.argmin(error[: n - 1]))
    return best * batch if best <= n // 2 else None


def settled_after(values: Floats, seconds: float) -> float | None:
    """Return the time (s) at which a series of equally spaced means over `seconds` has settled."""
    width = max(1, len(values) // OBSERVATIONS)
    n = len(values) // width
    if n == 0:
        return None
    cut = mser(values[: n * width].reshape(n, width).mean(axis=1))
    return None if cut is None else cut * width * seconds / len(values)
