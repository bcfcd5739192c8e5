// Runs of the current state: the first seed of every algorithm while it is simulated, the others when nothing
// changes. A new state cancels the runs of the one before.

import { SimulationError, type Engine } from "./engine";
import { planOf } from "./plan";
import type { Curve, Curves, Data, State, View } from "./types";

/** Seeds of a complete answer. */
export const SEEDS = 20;

export class Runs {
  /** Views of each algorithm, by seed. */
  views: View[][] = [];
  /** The first run of each algorithm as far as it is simulated; empty if the views are those of the state. */
  parts: (Curves | null)[] = [];
  error: string | null = null;
  /** States whose runs still take place, the present one included. */
  pending = 0;
  private current = new AbortController();

  constructor(
    private readonly data: Data,
    private readonly engine: Engine,
    private readonly update: () => void,
  ) {}

  /** Run a state; `seeds`: how many, 1 while a slider moves. */
  async start(state: State, seeds: number): Promise<void> {
    this.current.abort();
    this.current = new AbortController();
    const { signal } = this.current;
    this.pending++;
    try {
      const plans = state.specs.map((spec) => planOf(this.data, state, spec));
      this.parts = plans.map(() => null);
      const first = await Promise.all(
        plans.map((plan, i) =>
          this.engine.view(plan, 1, signal, (part) => {
            if (signal.aborted) return;
            this.error = null;
            this.parts[i] = joined(this.parts[i] ?? null, part);
            this.update();
          }),
        ),
      );
      if (signal.aborted) return;
      this.error = null;
      this.views = first.map((view) => [view]);
      this.parts = [];
      this.update();
      for (let seed = 2; seed <= seeds; seed += this.engine.width) {
        const wanted = Array.from({ length: Math.min(this.engine.width, seeds - seed + 1) }, (_, i) => seed + i);
        const more = await Promise.all(wanted.flatMap((one) => plans.map((plan) => this.engine.view(plan, one, signal))));
        if (signal.aborted) return;
        more.forEach((view, i) => this.views[i % plans.length]!.push(view));
        this.update();
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof SimulationError)) throw error;
      this.current.abort(); // those of the other algorithms
      this.error = error.message;
      this.parts = [];
      this.update();
    } finally {
      this.pending--;
      this.update();
    }
  }
}

/** Add a part of a run to those before it. */
function joined(before: Curves | null, part: Curves): Curves {
  if (!before) return part;
  const curves = (a: Curve[], b: Curve[]): Curve[] =>
    b.map(({ name, values }) => {
      const known = a.find((one) => one.name === name)?.values ?? new Array<null>(part.from).fill(null);
      return { name, values: [...known, ...values] };
    });
  return {
    ...part,
    from: 0,
    queue: [...before.queue, ...part.queue],
    queue_max: [...before.queue_max, ...part.queue_max],
    delay: [...before.delay, ...part.delay],
    throughput: [...before.throughput, ...part.throughput],
    drops: [...before.drops, ...part.drops],
    arrivals: [...before.arrivals, ...part.arrivals],
    probes: curves(before.probes, part.probes),
    windows: curves(before.windows, part.windows),
    dropped: [...before.dropped, ...part.dropped],
  };
}
