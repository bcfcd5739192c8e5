"""Compares the delay of three queues under the same load: ``.venv/bin/python examples/compare.py``."""

from pathlib import Path

import sojourn
from sojourn.stats import paired

scenario = sojourn.load(Path(__file__).with_name("red40.toml")).with_(duration="60s", warmup="20s")
results = sojourn.run(
    scenario,
    aqms=["droptail", sojourn.aqm("red", min_th="15p", max_th="45p"), sojourn.aqm("pi", q_ref="30p")],
    seeds=5,
)

for name in ("mean_delay_s", "goodput_bps"):
    baseline = results.values("droptail", name)
    for spec in results.aqms[1:]:
        effect = paired(baseline, results.values(spec, name), log=True)
        interval = f"{effect.low:.3f} to {effect.high:.3f}"
        print(f"{name}: {spec} is {effect.mean:.3f} times droptail, 95 % {interval}")

queue = results.trace("queue_mean", aqm="pi", seed=1)
print(f"samples of the queue under pi: {queue.height}, the last at {queue['time_s'].max():g} s")
