"""Draw the README's picture: what three algorithms make of the same 40 TCP flows."""

from pathlib import Path

import sojourn
from sojourn.plots import queue_traces

HERE = Path(__file__).parent
SCENARIO = HERE.parent / "python/sojourn/papers/raqm2005/scenarios/raqm-fig5a.toml"


def main() -> None:
    """Run seed 1 of Fig. 5(a) of the RAQM paper and write ``docs/images/queues.svg``."""
    results = sojourn.run(sojourn.load(SCENARIO), aqms=["pi", "rem b_star 50p", "raqm q_0 50p"], seeds=1)
    svg = queue_traces(results.trace("queue"), reference=50, limit=100)
    target = HERE / "images/queues.svg"
    target.parent.mkdir(exist_ok=True)
    target.write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
