// Runs of the current state: the first seed of every algorithm at once, the others when nothing changes.

import { SimulationError, type Engine } from "./engine";
import { planOf } from "./plan";
import type { Data, State, View } from "./types";

/** Seeds of a complete answer. */
export const SEEDS = 20;

export class Runs {
  /** Views of each algorithm, by seed. */
  views: View[][] = [];
  error: string | null = null;
  /** States whose runs still take place, the present one included. */
  pending = 0;
  private generation = 0;

  constructor(
    private readonly data: Data,
    private readonly engine: Engine,
    private readonly update: () => void,
  ) {}

  /** Run a state; `seeds`: how many, 1 while a slider moves. The results of older states are ignored. */
  async start(state: State, seeds: number): Promise<void> {
    const mine = ++this.generation;
    this.pending++;
    try {
      const plans = state.specs.map((spec) => planOf(this.data, state, spec));
      const first = await Promise.all(plans.map((plan) => this.engine.view(plan, 1)));
      if (mine !== this.generation) return;
      this.error = null;
      this.views = first.map((view) => [view]);
      this.update();
      for (let seed = 2; seed <= seeds; seed += this.engine.width) {
        const wanted = Array.from({ length: Math.min(this.engine.width, seeds - seed + 1) }, (_, i) => seed + i);
        const more = await Promise.all(wanted.flatMap((one) => plans.map((plan) => this.engine.view(plan, one))));
        if (mine !== this.generation) return;
        more.forEach((view, i) => this.views[i % plans.length]!.push(view));
        this.update();
      }
    } catch (error) {
      if (mine !== this.generation) return;
      if (!(error instanceof SimulationError)) throw error;
      this.error = error.message;
      this.update();
    } finally {
      this.pending--;
      this.update();
    }
  }
}
