// Runs of the current state: the first seed of every algorithm while it is simulated, the others when nothing
// changes. A new state cancels the runs of the one before.

import { SimulationError, type Engine } from "./engine";
import { planOf } from "./plan";
import type { Curve, Curves, Data, Plan, State, View } from "./types";

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
  /** Let the other seeds of the present state run. */
  complete: () => void = () => {};

  constructor(
    private readonly data: Data,
    private readonly engine: Engine,
    private readonly update: () => void,
  ) {}

  /** Run the first seed of a state, and the others after `complete`. */
  async start(state: State): Promise<void> {
    this.current.abort();
    this.current = new AbortController();
    const { signal } = this.current;
    const completed = new Promise<void>((resolve) => {
      this.complete = resolve;
      signal.addEventListener("abort", () => resolve());
    });
    this.pending++;
    try {
      const plans = state.specs.map((spec) => planOf(this.data, state, spec));
      await this.first(plans, signal);
      await completed;
      await this.others(plans.map(withoutFlows), signal);
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

  private async first(plans: Plan[], signal: AbortSignal): Promise<void> {
    this.parts = plans.map(() => null);
    const views = await Promise.all(
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
    this.views = views.map((view) => [view]);
    this.parts = [];
    this.update();
  }

  /** Run the other seeds, as many at once as the engine can; the views have the seeds that are complete. */
  private async others(plans: Plan[], signal: AbortSignal): Promise<void> {
    const found: View[][] = Array.from({ length: SEEDS - 1 }, () => []);
    let next = 0;
    const run = async (): Promise<void> => {
      while (!signal.aborted && next < found.length * plans.length) {
        const [row, i] = [Math.floor(next / plans.length), next++ % plans.length];
        found[row]![i] = await this.engine.view(plans[i]!, row + 2, signal);
        if (signal.aborted) return;
        const before = this.views[0]!.length;
        const isWhole = (views: View[]): boolean => plans.every((_, k) => views[k] !== undefined);
        while (this.views[0]!.length <= found.length && isWhole(found[this.views[0]!.length - 1]!))
          found[this.views[0]!.length - 1]!.forEach((view, k) => this.views[k]!.push(view));
        if (this.views[0]!.length > before) this.update();
      }
    };
    await Promise.all(Array.from({ length: this.engine.width }, run));
  }
}

/** The other seeds have no single flows and drops; without them a run is faster. */
function withoutFlows(plan: Plan): Plan {
  return { ...plan, trace: { ...(plan["trace"] as object), flows: null, cwnd: false, drops: false } };
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
    rates: curves(before.rates, part.rates),
    dropped: [...before.dropped, ...part.dropped],
  };
}
